"use strict";
// What the theme puts on a page later has a name each, and can be reached from the keyboard. Its search goes by keys: what is
// pasted or spoken into it is told it as one.
(() => {
  let copies = 0;
  const mend = () => {
    for (const one of document.querySelectorAll(".md-code__nav:not([aria-label])")) one.setAttribute("aria-label", `copy code ${(copies += 1)}`);
    for (const one of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) one.tabIndex = 0;
  };
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
  mend();
  document.addEventListener("input", ({ target }) => target.matches(".md-search__input") && target.dispatchEvent(new KeyboardEvent("keyup")));
})();

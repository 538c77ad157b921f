"use strict";
// A page that is opened from a folder may start no worker. The search then runs in a hidden frame, by the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #waiting = [];
    #frame = null;

    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.#tell(this, data);
      inside.importScripts = async (...scripts) => { for (const script of scripts) await this.#load(inside, script); };
      this.#load(inside, address).then(() => {
        this.#frame = inside;
        for (const data of this.#waiting) this.#tell(inside, data);
      });
    }

    #load(inside, address) {
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href).href;
      return new Promise((done, failed) => {
        script.addEventListener("load", done);
        script.addEventListener("error", failed);
        inside.document.body.append(script);
      });
    }

    #tell(target, data) { target.dispatchEvent(new MessageEvent("message", { data })); }

    postMessage(data) {
      if (this.#frame) this.#tell(this.#frame, data);
      else this.#waiting.push(data);
    }

    terminate() {}
  };
}

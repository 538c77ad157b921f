"""Texts that try to act on whatever shows them."""

HOSTILE = (
    "</script><script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title = 'owned'\"><style>body{display:none}</style>",
    "{{ 7 * 7 }} {% raw %} {% include 'page.html' %} ${7 * 7} {# #}",
    "]]> --> <!-- &lt;b&gt; \u2028 \u2029 \x00 \x1b[2J",
    "\u202eevil desrever \u2066 שלום עולם مرحبا \u200f",
    "javascript:document.title='owned' \" onfocus=\"document.title='owned'\" autofocus='",
    "long " + "x" * 1_000_000,
)

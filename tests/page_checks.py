"""What a page is checked for in a browser, as JavaScript that returns a list of faults."""

from __future__ import annotations

_STICKING_OUT = """
[...document.querySelectorAll('body *')].filter(item => {
  const box = item.getBoundingClientRect();
  return box.right > WIDTH_PX + 1 && box.width > 0 && !item.closest('MAY_STICK_OUT')
    && getComputedStyle(item).position !== 'absolute';
}).slice(0, 5).map(item => item.tagName + '.' + item.getAttribute('class'))
"""
CONTRAST = """
(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = item => {
    for (; item; item = item.parentElement) {
      const colour = parse(getComputedStyle(item).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };
  const bad = new Set();
  for (const item of document.querySelectorAll('body *')) {
    const own = [...item.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || item.closest('svg') || item.closest('[aria-hidden]')) continue;
    const a = light(parse(getComputedStyle(item).color)), b = light(ground(item));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.add(`${item.tagName}.${item.className} ${ratio.toFixed(2)}`);
  }
  return [...bad];
})()
"""


def sticking_out(width_px: int, *others: str) -> str:
    """Elements beyond the right edge of a window so wide.

    The page does not know its window's width: `innerWidth` grows with a page that is too wide for a phone.

    Args:
        width_px: Of the window.
        others: Selectors of elements that may stick out, as they scroll by themselves.
    """
    may = ", ".join(["pre", ".overlay", ".definitions", *others])
    return _STICKING_OUT.replace("WIDTH_PX", str(width_px)).replace("MAY_STICK_OUT", may)

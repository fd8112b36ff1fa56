// Light or dark, before anything is drawn: as the system says, until the switch is used.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("minamo-theme");
    } catch {
      return null; // storage can be forbidden; then the system decides
    }
  };
  const show = () => {
    root.dataset.theme = chosen() || (dark.matches ? "dark" : "light");
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  };
  dark.addEventListener("change", show);
  show();
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme").addEventListener("click", () => {
      const next = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("minamo-theme", next);
      } catch {
        root.dataset.theme = next;
        return;
      }
      show();
    });
  });
})();

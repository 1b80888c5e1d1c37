// Runs before the page is painted, so that a dark page does not flash light.
{
  const chosen = localStorage.getItem("namecheck-theme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = chosen ?? (dark ? "dark" : "light");
}

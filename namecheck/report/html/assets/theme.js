// Runs before the page is drawn: the chosen theme, and that there is JavaScript.
(function () {
  "use strict";
  var root = document.documentElement;
  root.classList.add("scripted");
  try {
    var theme = localStorage.getItem("namecheck-theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("namecheck-ends") === "no") root.classList.add("no-ends");
  } catch (error) {
    // A browser may keep nothing for plain files.
  }
})();

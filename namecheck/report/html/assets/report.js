// What the pages do beyond showing: sorting, filtering, the dims of expressions, keys, the theme.
// Texts of the page are set as text, never as markup.
(function () {
  "use strict";

  var root = document.documentElement;

  function each(selector, action) {
    Array.prototype.forEach.call(document.querySelectorAll(selector), action);
  }

  function kept(key, value) {
    try {
      if (value) localStorage.setItem(key, value);
      else localStorage.removeItem(key);
    } catch (error) {
      // A browser may keep nothing for plain files.
    }
  }

  function made(tag, name, text) {
    var element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // The theme: that of the system, light, or dark.

  var THEMES = ["system", "light", "dark"];
  var themeButton = document.getElementById("theme");

  function showTheme() {
    themeButton.textContent = "Theme: " + (root.dataset.theme || "system");
  }

  themeButton.addEventListener("click", function () {
    var current = THEMES.indexOf(root.dataset.theme || "system");
    var next = THEMES[(current + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    kept("namecheck-theme", next === "system" ? "" : next);
    showTheme();
  });
  showTheme();

  // Tables: a click on a heading sorts by its column, another one the other way round.

  var collator = new Intl.Collator(undefined, { numeric: true });

  function compared(column, isNumber) {
    return function (one, other) {
      if (isNumber) {
        return Number(one.cells[column].dataset.value) - Number(other.cells[column].dataset.value);
      }
      return collator.compare(one.cells[column].textContent, other.cells[column].textContent);
    };
  }

  each("table.sortable", function (table) {
    var headings = table.tHead.rows[0].cells;
    Array.prototype.forEach.call(headings, function (heading, column) {
      var isNumber = heading.classList.contains("number");
      heading.querySelector("button").addEventListener("click", function () {
        var before = heading.getAttribute("aria-sort");
        var first = isNumber ? "descending" : "ascending";
        var second = isNumber ? "ascending" : "descending";
        var order = before === first ? second : first;
        Array.prototype.forEach.call(headings, function (other) {
          other.removeAttribute("aria-sort");
        });
        heading.setAttribute("aria-sort", order);
        var body = table.tBodies[0];
        var rows = Array.prototype.slice.call(body.rows).sort(compared(column, isNumber));
        if (order === "descending") rows.reverse();
        rows.forEach(function (row) {
          body.appendChild(row);
        });
      });
    });
  });

  var filter = document.getElementById("filter");
  var table = document.getElementById("table");
  if (filter && table) {
    filter.addEventListener("input", function () {
      var word = filter.value.toLowerCase();
      Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
        row.hidden = row.textContent.toLowerCase().indexOf(word) < 0;
      });
    });
  }
  var counted = document.getElementById("counted");
  if (counted && table) {
    counted.addEventListener("change", function () {
      table.classList.toggle("only-counted", counted.checked);
    });
  }

  // The dims of the expression that the pointer or the keyboard is at.

  var source = document.querySelector(".code");
  if (!source) return;

  var tip = made("div");
  tip.id = "dims";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.appendChild(tip);
  var shownFor = null;
  var leaving = 0;

  function parts(expression) {
    var number = expression.dataset.e;
    if (number === undefined) return [expression];
    return Array.prototype.slice.call(source.querySelectorAll('.x[data-e="' + number + '"]'));
  }

  function textOf(expression) {
    var whole = parts(expression)
      .map(function (part) {
        return part.textContent;
      })
      .join(" ");
    return whole.length > 80 ? whole.slice(0, 79) + "…" : whole;
  }

  function enclosing(expression) {
    var parent = expression.parentElement && expression.parentElement.closest(".x");
    return parent && source.contains(parent) ? parent : null;
  }

  function fill(expression) {
    tip.textContent = "";
    expression.dataset.d.split(" | ").forEach(function (dims, number) {
      var line = made("div", "names", dims);
      if (number) line.insertBefore(made("span", "or", "or "), line.firstChild);
      tip.appendChild(line);
    });
    if (expression.dataset.o !== undefined) {
      tip.appendChild(made("div", "attributes", "unknown in calls from elsewhere"));
    }
    if (expression.dataset.a) tip.appendChild(made("div", "attributes", expression.dataset.a));
    var list = made("ul", "around");
    var outer = enclosing(expression);
    for (var count = 0; outer && count < 3; count++) {
      var row = made("li");
      row.appendChild(made("span", "", textOf(outer)));
      row.appendChild(made("span", "", outer.dataset.d));
      list.appendChild(row);
      outer = enclosing(outer);
    }
    if (list.firstChild) tip.appendChild(list);
  }

  function place(expression) {
    var box = expression.getClientRects()[0] || expression.getBoundingClientRect();
    var width = tip.offsetWidth;
    var height = tip.offsetHeight;
    var left = Math.max(12, Math.min(box.left, root.clientWidth - width - 12));
    var below = box.bottom + 6;
    var top = below + height > root.clientHeight - 8 ? Math.max(8, box.top - height - 6) : below;
    tip.style.left = left + "px";
    tip.style.top = top + "px";
  }

  function show(expression) {
    clearTimeout(leaving);
    if (shownFor === expression) return;
    hide();
    shownFor = expression;
    parts(expression).forEach(function (part) {
      part.classList.add("near");
    });
    fill(expression);
    tip.hidden = false;
    place(expression);
    expression.setAttribute("aria-describedby", "dims");
  }

  function hide() {
    clearTimeout(leaving);
    if (!shownFor) return;
    parts(shownFor).forEach(function (part) {
      part.classList.remove("near");
    });
    shownFor.removeAttribute("aria-describedby");
    shownFor = null;
    tip.hidden = true;
  }

  function hideSoon() {
    clearTimeout(leaving);
    leaving = setTimeout(function () {
      var focused = document.activeElement;
      if (focused && focused.matches(".x")) show(focused);
      else hide();
    }, 160);
  }

  source.addEventListener("mouseover", function (event) {
    var expression = event.target.closest(".x");
    if (expression) show(expression);
    else hideSoon();
  });
  source.addEventListener("mouseleave", hideSoon);
  tip.addEventListener("mouseenter", function () {
    clearTimeout(leaving);
  });
  tip.addEventListener("mouseleave", hideSoon);
  source.addEventListener("focusin", function (event) {
    if (event.target.matches(".x")) {
      enter(event.target);
      show(event.target);
    } else hide();
  });
  source.addEventListener("focusout", hideSoon);
  addEventListener("scroll", function () {
    if (shownFor) place(shownFor);
  }, { passive: true });
  source.addEventListener("scroll", function () {
    if (shownFor) place(shownFor);
  }, { passive: true });

  // Keys in the source: one expression is in the order of the tabulator, arrows lead to the others.

  function enter(expression) {
    each('.x[tabindex="0"]', function (other) {
      other.tabIndex = -1;
    });
    expression.tabIndex = 0;
  }

  function every() {
    return Array.prototype.slice.call(source.querySelectorAll(".x"));
  }

  function beside(expression, step) {
    var all = every();
    return all[all.indexOf(expression) + step];
  }

  function onLine(expression, step) {
    var line = expression.closest(".l");
    var left = expression.getBoundingClientRect().left;
    do {
      line = step > 0 ? line.nextElementSibling : line.previousElementSibling;
    } while (line && !line.querySelector(".x"));
    var nearest = null;
    var least = Infinity;
    Array.prototype.forEach.call(line ? line.querySelectorAll(".x") : [], function (other) {
      var distance = Math.abs(other.getBoundingClientRect().left - left);
      if (distance < least) {
        least = distance;
        nearest = other;
      }
    });
    return nearest;
  }

  var MOVES = {
    ArrowRight: function (expression) { return beside(expression, 1); },
    ArrowLeft: function (expression) { return beside(expression, -1); },
    ArrowDown: function (expression) { return onLine(expression, 1); },
    ArrowUp: function (expression) { return onLine(expression, -1); },
    o: enclosing,
  };

  function move(target) {
    if (!target) return;
    target.focus({ preventScroll: true });
    target.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  source.addEventListener("keydown", function (event) {
    var choose = MOVES[event.key];
    var isPlain = !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (choose && isPlain && event.target.matches(".x")) {
      event.preventDefault();
      move(choose(event.target));
    }
  });

  // Keys of the page.

  var ends = document.getElementById("ends");
  ends.checked = !root.classList.contains("no-ends");
  ends.addEventListener("change", function () {
    root.classList.toggle("no-ends", !ends.checked);
    kept("namecheck-ends", ends.checked ? "" : "no");
  });

  function nextCard(step) {
    var cards = Array.prototype.slice.call(document.querySelectorAll(".card"));
    if (!cards.length) return;
    var at = cards.indexOf(document.activeElement.closest(".card"));
    var card = cards[at < 0 ? (step > 0 ? 0 : cards.length - 1) : (at + step + cards.length) % cards.length];
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "center" });
  }

  document.addEventListener("keydown", function (event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("input, textarea, select")) return;
    if (event.key === "Escape") hide();
    else if (event.key === "n") nextCard(1);
    else if (event.key === "p") nextCard(-1);
    else if (event.key === "d") ends.click();
  });

  // A finding that is pointed at or entered shows its places in the source.

  function lit(card, isLit) {
    each(".fault[data-f], .origin[data-f]", function (mark) {
      if (mark.dataset.f.split(" ").indexOf(card.id) >= 0) mark.classList.toggle("shown", isLit);
    });
  }

  each(".card", function (card) {
    ["mouseenter", "focusin"].forEach(function (name) {
      card.addEventListener(name, lit.bind(null, card, true));
    });
    ["mouseleave", "focusout"].forEach(function (name) {
      card.addEventListener(name, lit.bind(null, card, false));
    });
  });
})();

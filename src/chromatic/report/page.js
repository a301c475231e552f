"use strict";
(() => {
  const data = JSON.parse(document.getElementById("contents").textContent);
  const { features, parts, columns, measure_key: kind, sums } = data;  // a part for each of several classes
  const STEP = 25, CHIPS = 12, LISTED = 40;
  const $ = (id) => document.getElementById(id);

  // ---- words and numbers -------------------------------------------------
  const count = (n) => n.toLocaleString("en-US");
  const rows = (n) => count(n) + (n === 1 ? " row" : " rows");
  // Where features of a row are summed, a row counts as often as it has features of the column.
  const amount = (n) => (sums ? count(n) + (n === 1 ? " time" : " times") : rows(n));
  const percent = (r) => r > 0 && r < 5e-5 ? "< 0.01 %" : r ? (100 * r).toFixed(r < 0.01 ? 2 : 1) + " %" : "0 %";
  const signed = (v) => (v > 0 ? "+" : v < 0 ? "−" : "") + Math.abs(v).toFixed(2);
  // Rates and levels are written in their own way, every other measure as a number with its sign.
  const level = (n) => (n ? "level " + count(n) : "no level");
  const measure = { rate: percent, level }[kind] || signed;
  const measureOfColumn = kind === "level" ? (n) => count(n) + " levels" : measure;

  // Text only ever becomes text nodes: what a feature is called is never read as HTML.
  const make = (tag, class_, ...children) => {
    const element = document.createElement(tag);
    if (class_) element.className = class_;
    element.append(...children);
    return element;
  };

  // ---- which features a column has, as far as the page knows them -------------
  const lower = features.name.map((name) => name.toLowerCase());
  const codeOf = new Map(features.name.map((name, i) => [name, i]));
  const ofColumn = new Map(columns.number.map((number) => [number, []]));
  parts.forEach((part) => part.column.forEach((column, i) => ofColumn.get(column)?.push(i)));
  const partOf = (place) => parts[columns.part[place]];
  const placeOf = new Map(columns.number.map((number, place) => [number, place]));
  const placesOf = (i) => parts.map((part) => placeOf.get(part.column[i])).filter((place) => place !== undefined);

  // ---- a bar from the overall rate or mean, or from 0, to a column's measure -----------------------
  const base = kind === "mean" ? parts[0].prior : 0;
  const largest = Math.max(...columns.measure.map((value) => Math.abs(value - base)), 1e-9);
  const scale = kind === "rate"
    ? (r) => (100 * r) / Math.max(largest, ...parts.map((part) => part.prior))
    : (v) => 50 + (50 * (v - base)) / largest;
  const meter = (value, prior) => {
    const whole = make("span", "meter");
    if (kind === "level") return whole.style.visibility = "hidden", whole;
    const zero = scale(kind === "rate" ? prior : base), at = Math.max(0, Math.min(100, scale(value)));
    const bar = make("i", at < zero ? "less" : "");
    bar.style.left = Math.min(at, zero) + "%";
    bar.style.width = Math.abs(at - zero) + "%";
    const mark = make("u");
    mark.style.left = zero + "%";
    whole.append(bar, mark);
    return whole;
  };

  // ---- the columns -------------------------------------------------------------
  const tableOf = (indices, cells) => {
    const body = indices.map((i) => make("tr", "", ...cells.map(([, text]) => make("td", "", text(i)))));
    return make("div", "scroll", make("table", "",
      make("thead", "", make("tr", "", ...cells.map(([head]) => make("th", "", head)))), make("tbody", "", ...body)));
  };

  const table = (indices, part) => {
    const cells = [["feature", (i) => features.name[i]], ["rows", (i) => count(features.rows[i])],
      [kind, (i) => measure(part.measure[i])]];
    if (part.weight) cells.push(["weight", (i) => signed(part.weight[i])]);
    if (features.seen) cells.push(["in test", (i) => count(features.seen[i])]);
    if (features.seen && !sums) cells.push(["lost in test", (i) => count(features.collided[i])]);
    return tableOf(indices, cells);
  };

  const inside = (place, hits) => {
    const number = columns.number[place], known = ofColumn.get(number), all = columns.features[place];
    const shownParts = [], part = partOf(place);
    let words = `${columns.name[place]}: ${count(all)} ${all === 1 ? "feature" : "features"} of color ` +
      `${columns.color[place]}, ${amount(columns.rows[place])} in training`;
    if (columns.absent[place]) words += `, ${count(columns.absent[place])} of these rows without any feature of its color`;
    if (columns.test_times) {
      const times = columns.test_times[place];
      words += sums ? `. It counts ${count(times)} in the test rows` : `. It is 1 in ${count(times)} test rows`;
      if (columns.test_rate && times)
        words += `, ${percent(columns.test_rate[place])} of them ${part.label === null ? "positive" : "of class " + part.label}`;
    }
    shownParts.push(make("p", "soft", words + "."));
    const shown = [...hits, ...known.filter((i) => !hits.includes(i))].slice(0, LISTED);
    if (shown.length) shownParts.push(table(shown, part));
    if (shown.length < all)
      shownParts.push(make("p", "soft", `and ${count(all - shown.length)} more` +
        (known.length < all ? "; those not on this page are told by chromatic inspect" : "")));
    return shownParts;
  };

  const columnElement = (place, hits) => {
    const known = ofColumn.get(columns.number[place]);
    const first = [...hits, ...known.filter((i) => !hits.includes(i))].slice(0, CHIPS);
    const chips = first.map((i) => make("span", hits.includes(i) ? "chip hit" : "chip", features.name[i]));
    if (!chips.length)
      chips.push(make("span", "soft", columns.absent[place] ? "no feature of its color" : "features not on this page"));
    const part = partOf(place);
    if (part.label !== null) chips.unshift(make("b", "class", part.label));
    const element = make("details", "column", make("summary", "",
      make("span", "number", String(columns.number[place])),
      make("span", "chips", ...chips),
      meter(columns.measure[place], part.prior),
      make("span", "measure", measureOfColumn(columns.measure[place])),
      make("span", "amount", amount(columns.rows[place]))));
    element.dataset.column = columns.number[place];
    element.addEventListener("toggle", () => {
      if (element.open && element.childElementCount === 1) element.append(...inside(place, hits));
    });
    return element;
  };

  const orders = {
    tells: (a, b) => a - b,
    high: (a, b) => columns.measure[b] - columns.measure[a],
    low: (a, b) => columns.measure[a] - columns.measure[b],
    rows: (a, b) => columns.rows[b] - columns.rows[a],
    features: (a, b) => columns.features[b] - columns.features[a],
    number: (a, b) => columns.number[a] - columns.number[b],
  };
  let shown = [];  // [place, hits] of the columns that the list shows
  const list = $("columns-list"), search = $("search"), sort = $("sort"), more = $("more"), status = $("status");
  const chosen = $("class");  // only where there are several classes

  const showMore = () => {
    const from = list.childElementCount;
    list.append(...shown.slice(from, from + STEP).map(([place, hits]) => columnElement(place, hits)));
    more.hidden = list.childElementCount >= shown.length;
  };

  const find = () => {
    const query = search.value.trim().toLowerCase(), hits = new Map();
    let without = 0;
    if (query) {
      lower.forEach((name, i) => {
        if (!name.includes(query)) return;
        const places = placesOf(i);
        if (!places.length) without++;
        places.forEach((place) => hits.set(place, [...(hits.get(place) || []), i]));
      });
      columns.name.forEach((name, place) => { if (name.toLowerCase() === query && !hits.has(place)) hits.set(place, []); });
    }
    const order = orders[sort.value];
    const exact = ([, indices]) => indices.some((i) => lower[i] === query) ? 0 : 1;
    for (const indices of hits.values()) indices.sort((a, b) => (lower[b] === query) - (lower[a] === query));
    shown = query ? [...hits] : columns.number.map((_, place) => [place, []]);
    if (chosen?.value) shown = shown.filter(([place]) => columns.part[place] === Number(chosen.value));
    shown.sort((a, b) => (query ? exact(a) - exact(b) : 0) || order(a[0], b[0]));
    list.replaceChildren();
    const itself = codeOf.get(search.value.trim());
    status.textContent = !query ? `${count(shown.length)} columns.` :
      `${count(shown.length)} ${shown.length === 1 ? "column has" : "columns have"} a feature with “${search.value.trim()}”` +
      (without ? `; ${count(without)} more such ${without === 1 ? "feature makes" : "features make"} no column` : "") +
      (itself !== undefined && !placesOf(itself).length ? `, “${search.value.trim()}” itself among them.` : ".");
    showMore();
  };

  const openColumn = (number) => {
    const place = placeOf.get(number);
    let element = $("linear").querySelector(`[data-column="${number}"]`);
    if (!element) {
      if (place === undefined) return;
      search.value = "";
      find();
      element = list.querySelector(`[data-column="${number}"]`);
      if (!element) list.prepend(element = columnElement(place, []));
    }
    for (let one = element; one; one = one.parentElement.closest("details")) one.open = true;
    element.scrollIntoView({ block: "center" });
  };

  // ---- one feature -------------------------------------------------------------
  const lookup = $("feature"), result = $("result"), suggestions = $("suggestions");

  const linkTo = (column) => {
    const link = make("a", "", `column ${column}`);
    link.href = `#column=${column}`;
    return link;
  };

  const linearOf = (part, i) => part.first_linear + (features.color[i] % part.n_linear);
  const link = (column) => (placeOf.has(column) ? linkTo(column) : `column ${column}`);

  // What a feature is for labels of two kinds, or for numbers.
  const place = (i, part) => {
    const column = part.column[i], where = make("p", "", `Color ${features.color[i]}, `);
    if (column >= 0) where.append(link(column), ".");
    else where.append({
      level: "without a level of its own: it is too rare for the budget.",
      rate: "no column: its rate is so near to that of rows without any feature of its color that they share a bin.",
    }[kind] || "no column.");
    const told = [where];
    if (part.weight)
      told.push(make("p", "", "Linear ", linkTo(linearOf(part, i)), `; its weight there is ${signed(part.weight[i])}.`));
    let words = `In ${rows(features.rows[i])} of training`;
    const own = part.measure[i], overall = part.prior === null ? "" : `, against ${percent(part.prior)} overall`;
    if (kind === "rate") words += `, ${percent(own)} positive (smoothed)` + overall;
    else if (kind !== "level") words += `; its ${kind} is ${signed(own)}`;
    else if (own) words += `; its level is ${count(own)}`;
    told.push(make("p", "", words + "."));
    if (kind !== "level") told.push(meter(own, part.prior));
    return told;
  };

  // The same for each of several classes, the one that it speaks most for first.
  const places = (i) => {
    const by = [...parts].sort((a, b) => b.measure[i] - a.measure[i]);
    const cells = [["class", (part) => part.label], [kind, (part) => measure(part.measure[i])]];
    if (kind === "rate") cells.push(["overall", (part) => percent(part.prior)]);
    cells.push(["", (part) => meter(part.measure[i], part.prior)]);
    cells.push(["column", (part) => (part.column[i] >= 0 ? link(part.column[i]) : "none")]);
    if (parts[0].weight) cells.push(["weight", (part) => signed(part.weight[i])]);
    return [make("p", "", `Color ${features.color[i]}, in ${rows(features.rows[i])} of training.`), tableOf(by, cells)];
  };

  const facts = (i) => {
    const told = [make("h3", "", features.name[i]), ...(parts.length > 1 ? places(i) : place(i, parts[0]))];
    if (features.seen)
      told.push(make("p", "", !features.seen[i] ? "Not in the test rows." : `In ${rows(features.seen[i])} of the test set` +
        (!features.collided[i] ? "; never with a rarer feature of its color." :
          `, of which ${count(features.collided[i])} ` + (sums ? "have a rarer feature of its color too: both count." :
            "kept a rarer feature of its color instead."))));
    const column = parts.length > 1 ? -1 : parts[0].column[i];
    const others = column < 0 ? [] : (ofColumn.get(column) || []).filter((j) => j !== i).slice(0, CHIPS);
    if (others.length) told.push(make("p", "soft", "With it in the column:"), make("div", "chips", ...others.map(chip)));
    return make("div", "card", ...told);
  };

  const chip = (i) => {
    const button = make("button", "chip", features.name[i]);
    button.type = "button";
    button.addEventListener("click", () => { location.hash = "feature=" + encodeURIComponent(features.name[i]); });
    return button;
  };

  const look = () => {
    const query = lookup.value.trim(), low = query.toLowerCase();
    result.replaceChildren();
    suggestions.replaceChildren();
    if (!query) {
      const first = features.name.slice(0, 6).map((_, i) => chip(i));
      if (first.length) suggestions.append(make("span", "soft", "For example"), ...first);
      return;
    }
    const exact = codeOf.has(query) ? codeOf.get(query) : lower.indexOf(low);
    if (exact >= 0) result.append(facts(exact));
    const starts = [], contains = [];
    for (let i = 0; i < lower.length && starts.length < CHIPS; i++) {
      if (i === exact) continue;
      if (lower[i].startsWith(low)) starts.push(i);
      else if (contains.length < CHIPS && lower[i].includes(low)) contains.push(i);
    }
    const near = [...starts, ...contains].slice(0, CHIPS);
    if (near.length) suggestions.append(make("span", "soft", exact >= 0 ? "Also" : "Did you mean"), ...near.map(chip));
    else if (exact < 0) result.append(make("p", "hint", features.name.length < data.n_features
      ? `“${query}” is not among the ${count(features.name.length)} features on this page. chromatic inspect --feature looks in all ${count(data.n_features)}.`
      : `The model has no sparse feature “${query}”.`));
  };

  // ---- addresses: #feature=NAME, #search=TEXT, #column=NUMBER --------------------
  const follow = () => {
    const [, what, text] = /^#(feature|search|column)=(.*)$/s.exec(location.hash) || [];
    if (!what) return;
    let value;
    try { value = decodeURIComponent(text); } catch { value = text; }
    if (what === "column") return openColumn(Number(value));
    const box = what === "feature" ? lookup : search;
    box.value = value;
    (what === "feature" ? look : find)();
    box.closest("section").scrollIntoView();
  };

  lookup.addEventListener("input", look);
  search.addEventListener("input", find);
  sort.addEventListener("change", find);
  chosen?.addEventListener("change", find);
  more.addEventListener("click", showMore);
  window.addEventListener("hashchange", follow);
  find();
  look();
  follow();
})();

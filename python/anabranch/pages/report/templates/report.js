// Draws the charts to the width that there is, and makes the tables sortable.

const font = getComputedStyle(document.body).fontFamily;

function configuration(width, layout) {
  return {
    background: null,
    font,
    view: { stroke: null },
    axis: { labelFontSize: 11, titleFontSize: 11, titleFontWeight: 400, labelColor: "#566373", titleColor: "#566373", gridColor: "#e8ebef", domainColor: "#dde2e8", tickColor: "#dde2e8", tickSize: 4 },
    axisX: { grid: false },
    header: { labelFontWeight: 600, labelPadding: 4 },
    legend: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400, columns: Math.max(1, Math.floor(width / (layout.legend * 7 + 30))) },
    facet: { spacing: 16 },
  };
}

function fit(specification, layout, width) {
  const fitted = structuredClone(specification);
  let headroom = 10;
  if (layout.kind === "single") {
    fitted.autosize = { type: "fit", contains: "padding" };
    // A single bar need not be as wide as the page.
    fitted.width = layout.bars ? Math.min(width, 150 + 100 * layout.bars) : width;
    fitted.height = layout.height ?? Math.min(layout.most, Math.max(layout.least, width * layout.aspect));
    if ((width - 60) / layout.bars < 36) {
      // Too narrow for the numbers side by side: they stand upright, above their bars or in the middle of their cells.
      const { mark } = fitted.layer.find(layer => layer.mark.type === "text");
      const above = "dy" in mark;
      Object.assign(mark, { angle: 270, fontSize: 10 }, above && { align: "left", baseline: "middle", dx: 5, dy: 0 });
      if (above) headroom = 26;
      else if ((width - 60) / layout.bars < 12) fitted.layer = fitted.layer.filter(layer => layer.mark !== mark);
    }
  } else if (layout.kind === "map") {
    fitted.width = Math.min(width - 12, 580 / layout.aspect);
    fitted.height = Math.round(fitted.width * layout.aspect);
    if (fitted.width < 500) for (const layer of fitted.layer) if (layer.mark.type === "text") layer.mark.fontSize = 9;
  } else {
    const axis = layout.own_y ? 76 : 58, gap = 16;
    const columns = Math.max(1, Math.min(layout.columns, Math.floor((width - axis + gap) / (layout.least + gap))));
    fitted.columns = columns;
    fitted.spec.width = Math.floor((width - axis - (columns - 1) * gap) / columns);
    Object.assign(fitted.facet.header, { labelLimit: fitted.spec.width + gap - 4, labelFontSize: fitted.spec.width < 200 ? 10 : 12 });
    // Names that do not fit have a line for each key: their beginnings are often alike.
    if (fitted.facet.sort.length > 1 && fitted.facet.sort.some(name => name.length * 7 > fitted.spec.width)) {
      fitted.facet.header.labelExpr = "split(datum.label, ' · ')";
    }
    // The heading above the chart names the measure.
    if (!layout.own_y) for (const layer of fitted.spec.layer ?? [fitted.spec]) layer.encoding.y.title = null;
    fitted.spec.height = Math.round(Math.min(layout.tallest, Math.max(90, fitted.spec.width * layout.aspect)));
  }
  fitted.config = configuration(width, layout);
  fitted.config.legend.offset = headroom;
  return fitted;
}

const charts = [...document.querySelectorAll("[data-chart]")].map(element => ({
  element, width: 0, view: null, ...JSON.parse(document.getElementById(`data-${element.dataset.chart}`).textContent),
}));

async function draw(chart) {
  if (chart.element.closest("details:not([open])")) return;
  const width = chart.element.clientWidth;
  if (Math.abs(width - chart.width) < 8) return;
  chart.width = width;
  // What was chosen outlives a redrawing.
  const chosen = (chart.specification.params ?? []).map(({ name }) => [name, chart.view?.signal(name)]);
  chart.view?.finalize();
  chart.element.previousElementSibling.replaceChildren();
  const description = chart.element.closest("figure").getAttribute("aria-label");
  const { view } = await vegaEmbed(chart.element, { description, ...fit(chart.specification, chart.layout, width) }, {
    renderer: "svg",
    bind: chart.element.previousElementSibling,
    actions: false,
  });
  for (const [name, value] of chosen) if (value !== undefined) await view.signal(name, value).runAsync();
  // A layer without marks has no name to be read out.
  for (const layer of chart.element.querySelectorAll("g.role-mark:empty")) layer.setAttribute("aria-hidden", "true");
  chart.view = view;
  chart.element.closest("figure").querySelector(".save").hidden = false;
}

function cell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A chart's data as a table. Lines hold arrays: a row for each element. A map's arrays have a value for each variant.
function csv(chart) {
  const { data, datasets } = chart.specification;
  const rows = (data?.values ?? datasets.links).flatMap(row => {
    const lists = Object.entries(row).filter(([, value]) => Array.isArray(value));
    if (lists.length === 0) return [row];
    return lists[0][1].map((_, place) => ({
      ...(chart.layout.variants && { variant: chart.layout.variants[place] }),
      ...row,
      ...Object.fromEntries(lists.map(([name, list]) => [name, list[place]])),
    }));
  });
  const names = Object.keys(rows[0] ?? {});
  return [names, ...rows.map(row => names.map(name => row[name]))].map(line => line.map(cell).join(",")).join("\n") + "\n";
}

async function save(chart, format) {
  const link = document.createElement("a");
  link.download = `${chart.element.dataset.chart}.${format}`;
  link.href = format === "csv"
    ? URL.createObjectURL(new Blob([csv(chart)], { type: "text/csv" }))
    : await chart.view.toImageURL(format, format === "png" ? 2 : 1);
  link.click();
}

for (const chart of charts) {
  for (const button of chart.element.closest("figure").querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => save(chart, button.dataset.save));
  }
}

async function drawAll() {
  for (const chart of charts) {
    try {
      await draw(chart);
    } catch (error) {
      window.noteError(`${chart.element.dataset.chart}: ${error.message}`);
      chart.element.textContent = "This chart could not be drawn.";
    }
  }
  document.documentElement.dataset.charts = "drawn";
}

for (const section of document.querySelectorAll("details.section")) section.addEventListener("toggle", drawAll);

window.addEventListener("beforeprint", () => {
  for (const section of document.querySelectorAll("details.section")) section.open = true;
  drawAll();  // Before the page is laid out for paper, which does not wait for the event "toggle".
});

// A link of the page opens the section that it leads to.
const open = () => {
  const section = location.hash && document.getElementById(location.hash.slice(1));
  if (section instanceof HTMLDetailsElement) section.open = true;
};
window.addEventListener("hashchange", open);
open();

let pending;
window.addEventListener("resize", () => {
  clearTimeout(pending);
  pending = setTimeout(drawAll, 150);
});

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const numeric = heading.classList.contains("number");
    // Numbers first from the greatest, texts from A; unknown last, either way.
    const first = numeric ? "descending" : "ascending";
    const second = numeric ? "ascending" : "descending";
    const order = heading.getAttribute("aria-sort") === first ? second : first;
    headings.forEach(other => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const key = row => row.cells[column].dataset.key;
    const compare = (a, b) => {
      if (!key(a) || !key(b)) return (key(a) ? 0 : 1) - (key(b) ? 0 : 1);
      return sign * (numeric ? key(a) - key(b) : key(a).localeCompare(key(b)));
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
  }));
}

for (const select of document.querySelectorAll("select[data-table]")) {
  const rows = [...document.getElementById(select.dataset.table).tBodies[0].rows];
  const groups = [...new Set(rows.map(row => row.dataset.group))];
  if (groups.length < 2) continue;
  select.append(...groups.map(group => new Option(group, group)));
  const show = () => rows.forEach(row => { row.hidden = row.dataset.group !== select.value; });
  select.addEventListener("change", show);
  select.closest(".pick").hidden = false;
  document.getElementById(select.dataset.table).classList.add("picked");
  show();
}

await drawAll();

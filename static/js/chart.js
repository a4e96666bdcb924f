// Draws <figure data-chart="ID">: the chart described in the JSON block with that id, in the page's own colours.
// Names are plain text. Plotly reads <b>, <br> and entities in any text, so everything is escaped first.
const WIDTH = 56;

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const wrapped = (text) => text.match(new RegExp(`.{1,${WIDTH}}`, "gsu")) ?? [""];
const label = (mark) => [mark.name, ...mark.detail].flatMap(wrapped).map(escaped).join("<br>");

// A custom property as the browser resolves it here and now, whatever the theme. A probe is asked once: a second
// colour on the same element could be caught in the middle of a transition.
function resolve(figure, name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  figure.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function colours(figure) {
  const read = (name) => resolve(figure, name);
  const data = [1, 2, 3, 4, 5, 6].map((number) => read(`data-${number}`));
  return { data, ink: read("ink"), quiet: read("ink-2"), line: read("line"), raised: read("raised") };
}

const size = (mark) => 11 + 20 * Math.sqrt(mark.share ?? 0);

// A roof's name stands above its line, where no kernel is: beside the middle of a slanted one, at the end of a flat one.
function roof(series, paint) {
  const [first, last] = series.marks;
  const slanted = first.y !== last.y;
  const between = (from, to) => from * (to / from) ** 0.6;
  const marks = slanted ? [first, { x: between(first.x, last.x), y: between(first.y, last.y) }, last] : [first, last];
  return {
    x: marks.map((mark) => mark.x),
    y: marks.map((mark) => mark.y),
    mode: "lines+text",
    text: slanted ? ["", escaped(series.name), ""] : ["", escaped(series.name)],
    textposition: "top left",
    textfont: { color: paint.quiet, size: 12 },
    line: { color: paint.quiet, width: 1.5 },
    hoverinfo: "skip",
  };
}

function points(series, paint) {
  return {
    mode: series.kind === "points" && series.marks.length > 1 ? "lines+markers" : "markers",
    text: series.marks.map(label),
    hovertemplate: "%{text}<extra></extra>",
    line: { color: paint.data[series.colour - 1], width: 1, dash: "dot" },
    marker: {
      symbol: series.symbol,
      size: series.marks.map(size),
      color: paint.data[series.colour - 1],
      opacity: 1,
      line: { color: paint.raised, width: 1.5 },
    },
  };
}

function trace(series, paint) {
  const drawn = series.kind === "line" ? roof(series, paint) : points(series, paint);
  const place = { x: series.marks.map((mark) => mark.x), y: series.marks.map((mark) => mark.y) };
  return { type: "scatter", name: escaped(series.name), cliponaxis: false, ...place, ...drawn };
}

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

function tick(value, unit) {
  const [scale, prefix] = (unit.includes("/s") && PREFIXES.find(([least]) => value >= least)) || [1, ""];
  return `${(value / scale).toLocaleString("en", { maximumSignificantDigits: 3 })}${prefix && ` ${prefix}`}`;
}

// One tick a power of ten, named without exponents.
function decades({ low, high, unit }) {
  const first = Math.ceil(Math.log10(low));
  const tickvals = Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, index) => 10 ** (first + index));
  return { range: [Math.log10(low), Math.log10(high)], tickvals, ticktext: tickvals.map((value) => tick(value, unit)) };
}

function axis(described, paint) {
  const { scale, low, high } = described;
  return {
    type: scale,
    ...(scale === "log" ? decades(described) : { range: [low, high] }),
    title: { text: escaped(`${described.title} (${described.unit})`), font: { size: 13 }, standoff: 12 },
    gridcolor: paint.line,
    linecolor: paint.line,
    zeroline: false,
    automargin: true,
    fixedrange: true,
  };
}

function layout(chart, figure, paint) {
  return {
    autosize: true,
    showlegend: false,
    dragmode: false,
    hovermode: "closest",
    margin: { l: 56, r: 16, t: 16, b: 48 },
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    font: { family: getComputedStyle(figure).fontFamily, size: 12, color: paint.ink },
    hoverlabel: { bgcolor: paint.raised, bordercolor: paint.quiet, font: { color: paint.ink }, align: "left" },
    xaxis: axis(chart.x, paint),
    yaxis: axis(chart.y, paint),
  };
}

function draw(figure) {
  const box = figure.querySelector(".chart-draw");
  const source = document.getElementById(figure.dataset.chart);
  if (!box || !source) return;
  const chart = JSON.parse(source.textContent);
  const paint = colours(figure);
  const traces = chart.series.filter((series) => series.kind !== "bars").map((series) => trace(series, paint));
  box.querySelector("p")?.remove();
  window.Plotly.react(box, traces, layout(chart, figure, paint), { displayModeBar: false, responsive: false });
}

const figures = document.querySelectorAll("[data-chart]");
const drawAll = () => figures.forEach(draw);

// A chart in a part that was hidden is drawn anew as soon as that part has a width.
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.clientWidth && target.classList.contains("js-plotly-plot")) window.Plotly.Plots.resize(target);
});
drawAll();
for (const figure of figures) {
  const box = figure.querySelector(".chart-draw");
  if (box) resized.observe(box);
}
document.addEventListener("themechange", drawAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

// Amounts as people read them, as optimas_web/figures.py says them.
export function size(bytes) {
  const [scale, unit] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]].find(([least]) => bytes >= 0.9995 * least) ?? [1, "B"];
  return `${(bytes / scale).toLocaleString("en", { maximumSignificantDigits: 3 })} ${unit}`;
}

export function span(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

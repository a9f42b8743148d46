// Statistics of durations: the median with its interval, and a histogram.

const Z = 1.96;

export const median = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

// The 95 % interval of the median from order statistics, which asks for no distribution; null
// below six values, of which even the least and the greatest do not reach 95 %.
export function medianInterval(values) {
  const count = values.length;
  if (count < 6) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const half = (Z * Math.sqrt(count)) / 2;
  const lower = Math.max(1, Math.round(count / 2 - half));
  const upper = Math.min(count, Math.round(count / 2 + half + 1));
  return [sorted[lower - 1], sorted[upper - 1]];
}

// Counts in equal bins from the least value to the 99th percentile; greater ones are told beside.
export function histogram(values, most = 40) {
  const sorted = values.toSorted((a, b) => a - b);
  const least = sorted[0];
  const greatest = sorted[Math.floor((sorted.length - 1) * 0.99)];
  const bins = Math.max(1, Math.min(most, Math.ceil(Math.sqrt(sorted.length) * 2)));
  const counts = new Array(bins).fill(0);
  const width = (greatest - least) / bins || 1;
  let beyond = 0;
  for (const value of sorted) {
    if (value > greatest) beyond++;
    else counts[Math.min(bins - 1, Math.floor((value - least) / width))]++;
  }
  return { least, greatest, counts, beyond };
}

// True if the medians of the last two windows differ by less than 3 %.
export function settled(windows) {
  if (windows.length < 2) return false;
  const [before, last] = windows.slice(-2).map(median);
  return Math.abs(before - last) <= 0.03 * Math.min(before, last);
}

// Times in the zone of a campaign: the zone of its rules, or else that of the browser.

const wall = new Map();

/** The date and time of day of an instant in a zone, as the value of a datetime-local field. */
export function wallOf(instant, zone) {
  if (!wall.has(zone)) wall.set(zone, new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" }));
  const part = Object.fromEntries(wall.get(zone).formatToParts(new Date(instant)).map(({ type, value }) => [type, value]));
  return `${part.year.padStart(4, "0")}-${part.month}-${part.day}T${part.hour}:${part.minute}:${part.second}`;
}

/** The instant at which the clocks of a zone show the value of a datetime-local field. */
export function instantOf(text, zone) {
  const shown = Date.parse(`${text}Z`);
  const ahead = (at) => Date.parse(`${wallOf(at, zone)}Z`) - Math.floor(at / 1000) * 1000;
  const about = shown - ahead(shown);
  return new Date(shown - ahead(about));
}

/** The calendar days from one day to another, such as "2026-12-01". */
export const daysBetween = (from, to) => Math.round((Date.parse(`${to}T00:00Z`) - Date.parse(`${from}T00:00Z`)) / 86400000);

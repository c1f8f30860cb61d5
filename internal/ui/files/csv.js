// Files that the page saves: CSV according to RFC 4180, or in the form that spreadsheets
// of some languages need.

import { locale } from "./text.js";

/** Parses a CSV text into rows, each an array of fields. */
export function parse(text) {
  const rows = [];
  let row = [], field = "", isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (isQuoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') field += text[++i];
      else isQuoted = false;
    } else if (c === '"') isQuoted = true;
    else if (c === ",") { row.push(field); field = ""; }
    else if (c === "\n") { rows.push([...row, field]); row = []; field = ""; }
    else if (c !== "\r") field += c;
  }
  if (field || row.length) rows.push([...row, field]);
  return rows;
}

/** Parses a CSV text into objects, with its columns as members. */
export function records(text) {
  const [columns = [], ...rows] = parse(text);
  return rows.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

/** Whether spreadsheets in the browser's language use a decimal comma, and therefore semicolons between fields. */
export const hasDecimalComma = () => new Intl.NumberFormat(locale).format(1.5).includes(",");

/**
 * Returns a CSV text. excel separates fields by semicolons, mark puts a byte order mark
 * at the beginning, and comma uses a decimal comma in the columns of amounts.
 */
export function write(columns, rows, { excel = false, mark = excel, comma = false, amounts = ["value"] } = {}) {
  const separator = excel ? ";" : ",";
  const quoted = (text) => (/[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const line = (row) => columns.map((name) => {
    const text = String(row[name] ?? "");
    return quoted(comma && amounts.includes(name) ? text.replace(".", ",") : text);
  }).join(separator);
  return (mark ? "\ufeff" : "") + [columns.map(quoted).join(separator), ...rows.map(line), ""].join("\r\n");
}

/** Makes the browser save a file. */
export function save(name, content, type = "text/csv;charset=utf-8") {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

import type { JsonObject } from '../lib/json';
import type { EntryDetails } from './entry';

// The details of an entry begin with its action. They are stored without it: it is a column.

/** The details of an entry as they are stored, as JSON. */
export function storedDetails({ action: _, ...details }: EntryDetails): string {
  return JSON.stringify(details);
}

/** The details of an entry. */
export function readDetails(action: string, stored: JsonObject): JsonObject {
  return { action, ...stored };
}

/** The details of an entry as JSON, from their stored form and without parsing it. */
export function detailsText(action: string, stored: string): string {
  return `{"action":${JSON.stringify(action)},${stored.slice(1)}`;
}

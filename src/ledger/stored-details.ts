import type { JsonObject } from '../lib/json';
import type { Id } from '../lib/typeid';
import type { Entry, EntryDetails } from './entry';

// The details of an entry are stored as JSON in a short form, which takes a quarter less room.
// Their first member, the action, is left out: it is a column. Two characters of white space stand
// for each member that most entries have. JSON allows white space there, and `JSON.stringify`
// itself writes none, so SQL reads the short form too. It reads NULL for a member that is left out:
// right for those that are null, but not for `token_id`, which no SQL may read from the details.

/** The other columns of an entry that its details repeat. */
type Subject = Pick<Entry, 'permission'> & Pick<EntryDetails, 'action'>;

/** Stands in stored details for a policy that is null. */
export const WITHOUT_POLICY = '\n\r';

const SHORT_FORM = /[\n\t\r]{2}/g;

/**
 * The members that short forms stand for, by short form. The token of a permission has its id, with
 * another prefix.
 */
function shortForms(permission: Id<'perm'>): Record<string, string> {
  return {
    '\n\n': ',"decided_by":null',
    '\n\t': ',"decision_reason":null',
    [WITHOUT_POLICY]: ',"policy_id":null',
    '\t\n': ',"input_digest":null',
    '\t\t': ',"preview_digest":null',
    '\t\r': `,"token_id":"${permission.replace('perm_', 'token_')}"`,
  };
}

/** The details of an entry as they are stored. */
export function storedDetails({ permission, details }: Pick<Entry, 'permission' | 'details'>) {
  const { action: _, ...others } = details;
  let stored = JSON.stringify(others);
  for (const [short, member] of Object.entries(shortForms(permission)))
    stored = stored.replaceAll(member, short);
  return stored;
}

/** The details of an entry as JSON, from their stored form and without parsing it. */
export function detailsText({ action, permission }: Subject, stored: string): string {
  const members = shortForms(permission);
  const rest = stored.slice(1).replace(SHORT_FORM, (short) => members[short] ?? short);
  return `{"action":${JSON.stringify(action)},${rest}`;
}

/** The details of an entry, from their stored form. */
export function readDetails(subject: Subject, stored: string): JsonObject {
  return JSON.parse(detailsText(subject, stored));
}

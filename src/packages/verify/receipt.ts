import { sha256 } from './core/bytes.ts';
import { type Checkpoint, readCheckpoint } from './core/checkpoint.ts';
import { digestOf } from './core/digest.ts';
import { CannotCheck, entryFault, Fault } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject } from './core/json.ts';
import { verifyInclusion } from './core/merkle.ts';
import { readSealedEntry } from './core/sealed-entry.ts';
import { readHashes } from './entry-proof.ts';

const TYPE = 'countersign/receipt/v1';
const FIELDS = [
  'type',
  'permission_id',
  'entries',
  'checkpoint',
  'complete',
  'input',
  'preview',
] as const;
const ENTRY_FIELDS = ['sequence', 'leaf_input', 'inclusion_path'];
const CHECKPOINT_FIELDS = ['origin', 'tree_size', 'root_hash', 'timestamp', 'note'];
const MAX_ENTRIES = 100;

/** An entry of a receipt, which is under its checkpoint. */
export interface ReceiptEntry {
  sequence: number;
  id: string;
  event: string;
  permission: string;
  agent: string;
  /** When it was written, as ISO 8601. */
  time: string;
  details: JsonObject;
  entry: JsonObject;
}

/** A receipt whose entries are all under its checkpoint. */
export interface Receipt {
  permission: string;
  /** The entries of the permission, in the order of the log. */
  own: ReceiptEntry[];
  /** Those of the first permission of its series, if it was approved as part of one. */
  series: ReceiptEntry[];
  isComplete: boolean;
  input: Json;
  preview: Json;
}

/** Whether a JSON value is a receipt, `GET /v1/permissions/:id/receipt`. */
export function isReceipt(value: Json): value is JsonObject {
  return isJsonObject(value) && 'permission_id' in value && 'entries' in value;
}

/**
 * Reads a receipt. Checks that every entry is under its checkpoint, and that the entries agree with
 * each other, with the arguments and with the preview. Does not check the checkpoint's signature.
 * @throws Fault if anything of this is wrong; CannotCheck if it has no entry
 */
export async function readReceipt(
  value: JsonObject,
): Promise<{ receipt: Receipt; checkpoint: Checkpoint }> {
  requireFields(value, FIELDS, 'The receipt');
  if (value.type !== TYPE)
    throw new Fault('file', `The receipt is not of the type ${TYPE}`, {
      evidence: { found: JSON.stringify(value.type) },
    });
  if (typeof value.complete !== 'boolean')
    throw new Fault('file', 'The receipt does not say whether it is complete');
  requireFields(value.checkpoint, CHECKPOINT_FIELDS, "The receipt's checkpoint");
  const checkpoint = readCheckpoint(value.checkpoint, "The receipt's checkpoint");
  const receipt = divideEntries(value, await readEntries(value.entries, checkpoint));
  await requireContents(receipt);
  if (receipt.isComplete) requireComplete(receipt);
  return { receipt, checkpoint };
}

/** @throws Fault if a value is no object with exactly these fields */
function requireFields(
  value: Json | undefined,
  fields: readonly string[],
  where: string,
): asserts value is JsonObject {
  if (!isJsonObject(value)) throw new Fault('file', `${where} is not an object`);
  const missing = fields.find((name) => value[name] === undefined);
  if (missing) throw new Fault('file', `${where} has no ${missing}`);
  const unknown = Object.keys(value).find((name) => !fields.includes(name));
  if (unknown !== undefined)
    throw new Fault('file', `${where} has an unknown ${JSON.stringify(unknown)}`);
}

/** Reads the entries. Each must be under the checkpoint. */
async function readEntries(
  value: Json | undefined,
  checkpoint: Checkpoint,
): Promise<ReceiptEntry[]> {
  if (!Array.isArray(value) || value.length > MAX_ENTRIES)
    throw new Fault('file', `The receipt has no list of at most ${MAX_ENTRIES} entries`);
  if (value.length === 0)
    throw new CannotCheck('The receipt holds no entry: all were older than the log is kept');
  const entries: ReceiptEntry[] = [];
  for (const part of value) {
    const entry = await readEntry(part, checkpoint);
    if (entry.sequence <= (entries.at(-1)?.sequence ?? 0))
      throw entryFault('swapped', 'is not in the order of the log', entry);
    entries.push(entry);
  }
  return entries;
}

async function readEntry(value: Json, { origin, size, root }: Checkpoint): Promise<ReceiptEntry> {
  requireFields(value, ENTRY_FIELDS, 'An entry of the receipt');
  const { sequence } = value;
  const sealed = readSealedEntry(value.leaf_input);
  if (typeof sequence !== 'number' || !sealed)
    throw new Fault('changed', 'An entry of the receipt is malformed', {
      evidence: { sequence: JSON.stringify(sequence) },
    });
  const { entry } = sealed;
  const read = readFacts(sequence, entry);
  const path = readHashes(value.inclusion_path);
  if (!(await verifyInclusion(sequence - 1, size, await sha256(sealed.input), path, root)))
    throw entryFault('changed', 'does not lead to the root of the checkpoint', read);
  if (entry.sequence !== sequence)
    throw entryFault('swapped', 'has another sequence than the receipt says', read);
  if (!origin.endsWith(`/${entry.user_id}`))
    throw entryFault('swapped', 'belongs to another account than the log', read);
  return read;
}

function readFacts(sequence: number, entry: JsonObject): ReceiptEntry {
  const { details } = entry;
  const text = (name: string) => {
    const value = entry[name];
    if (typeof value === 'string') return value;
    throw entryFault('changed', `has no ${name}`, { sequence });
  };
  if (!isJsonObject(details)) throw entryFault('changed', 'has no details', { sequence });
  return {
    sequence,
    id: text('id'),
    event: text('event_type'),
    permission: text('permission_request_id'),
    agent: text('agent_id'),
    time: text('created_at'),
    details,
    entry,
  };
}

/** Divides the entries into those of the permission and those of the first one of its series. */
function divideEntries(value: JsonObject, entries: ReceiptEntry[]): Receipt {
  const { permission_id: permission, complete, input = null, preview = null } = value;
  const own = entries.filter((entry) => entry.permission === permission);
  const [first] = own;
  if (typeof permission !== 'string' || !first)
    throw new Fault('swapped', 'The receipt has no entry of its permission', {
      evidence: { permission: JSON.stringify(permission) },
    });
  const leader = seriesOf(own);
  const series: ReceiptEntry[] = [];
  for (const entry of entries) {
    const isOwn = entry.permission === permission;
    if (!isOwn && entry.permission !== leader)
      throw entryFault('added', 'is of another permission', entry);
    requireSameAct(entry, first);
    if (isOwn) continue;
    if (entry.event !== 'request' && entry.event !== 'approve')
      throw entryFault('added', 'of the series is neither its request nor its approval', entry);
    series.push(entry);
  }
  return { permission, own, series, isComplete: complete === true, input, preview };
}

/** @throws Fault if two entries are of different agents, actions or resources */
function requireSameAct(entry: ReceiptEntry, first: ReceiptEntry): void {
  const isSame =
    entry.agent === first.agent &&
    entry.details.action === first.details.action &&
    entry.details.resource === first.details.resource;
  if (!isSame) throw entryFault('swapped', 'is of another agent, action or resource', entry);
}

/** The first permission of the series that approved; null if it was no series. */
function seriesOf(own: ReceiptEntry[]): string | null {
  const approval = own.find(({ event }) => event === 'approve');
  const series = approval?.details.series;
  if (!isJsonObject(series) || typeof series.permission_id !== 'string') return null;
  return series.permission_id === approval?.permission ? null : series.permission_id;
}

/** The arguments and the preview must have the digests in the first entry that has digests. */
async function requireContents({ own, input, preview }: Receipt): Promise<void> {
  const request = own.find(({ details }) => details.input_digest !== undefined);
  for (const [name, content] of Object.entries({ input, preview })) {
    if (content === null) continue;
    const expected = request?.details[`${name}_digest`];
    if (request && expected === (await digestOf(content))) continue;
    const what = name === 'input' ? 'The arguments differ' : 'The preview differs';
    throw new Fault('changed', `${what} from what was requested`, {
      evidence: { digest: await digestOf(content), requested: String(expected ?? 'none') },
    });
  }
}

/** A complete receipt has the request and, if the token was used or revoked, the approval. */
function requireComplete({ own, series }: Receipt): void {
  const has = (event: string, entries = own) => entries.some((entry) => entry.event === event);
  const needsApproval = has('use') || has('revoke');
  const isWhole =
    own[0]?.event === 'request' &&
    (!needsApproval || has('approve')) &&
    (seriesOf(own) === null || (has('request', series) && has('approve', series)));
  if (!isWhole)
    throw new Fault('missing', 'The receipt says that it is complete, but an entry is missing');
}

import { readFile } from 'node:fs/promises';
import { decodeBase64Url } from './core/bytes.ts';
import { readCoseKey } from './core/cose-key.ts';
import { CannotCheck } from './core/findings.ts';
import { isJsonObject, type Json, type JsonObject, parseJson } from './core/json.ts';
import type { SignatureKey } from './core/signature.ts';
import { parseTime } from './core/time.ts';

/** A passkey that an auditor pinned to a member. */
export interface PinnedPasskey {
  member: string;
  key: SignatureKey;
  /**
   * When the member added and removed it, in milliseconds since the epoch; null if that is not
   * pinned.
   */
  addedAt: number | null;
  removedAt: number | null;
}

/** The facts that an auditor pinned: who has which passkeys, and at which addresses they sign. */
export interface PinnedPasskeys {
  /** The origins of the service, such as `https://countersign.example.com`. */
  origins: string[];
  /** The members whose passkeys are pinned, all of them. */
  members: Set<string>;
  /** By credential id. */
  passkeys: Map<string, PinnedPasskey>;
}

const NAMES = ['id', 'public_key', 'name', 'added_at', 'removed_at'];
const MEMBER = /^member_[0-9a-z]{26}$/;

/**
 * Reads the pinned passkeys: `{"origin": …, "members": {"member_…": […]}}`. The list of a member
 * has the form of `passkeys` in `GET /v1/members/:id`.
 * @throws CannotCheck if the file cannot be read or is malformed
 */
export async function readPasskeys(path: string): Promise<PinnedPasskeys> {
  try {
    return await readPinned(parseJson(await readFile(path, 'utf8')));
  } catch (error) {
    throw new CannotCheck(`The passkeys in ${path} cannot be read: ${(error as Error).message}`);
  }
}

async function readPinned(value: Json): Promise<PinnedPasskeys> {
  const { origin, members, ...others } = requireObject(value, 'the file');
  rejectNames(Object.keys(others), 'the file');
  const pinned: PinnedPasskeys = {
    origins: (Array.isArray(origin) ? origin : [origin]).map(readOrigin),
    members: new Set(),
    passkeys: new Map(),
  };
  for (const [member, list] of Object.entries(requireObject(members, 'members'))) {
    if (!MEMBER.test(member))
      throw new SyntaxError(`${JSON.stringify(member)} is not the id of a member`);
    if (!Array.isArray(list)) throw new SyntaxError(`${member} has no list of passkeys`);
    pinned.members.add(member);
    for (const value of list) {
      const [id, passkey] = await readPasskey(value, member);
      if (pinned.passkeys.has(id)) throw new SyntaxError(`the passkey ${id} is in it twice`);
      pinned.passkeys.set(id, passkey);
    }
  }
  return pinned;
}

function readOrigin(value: Json | undefined): string {
  if (typeof value === 'string' && URL.parse(value)?.origin === value) return value;
  throw new SyntaxError(
    'its origin is not that of a service, such as "https://countersign.example.com"',
  );
}

async function readPasskey(value: Json, member: string): Promise<[string, PinnedPasskey]> {
  const where = `a passkey of ${member}`;
  const passkey = requireObject(value, where);
  const others = Object.keys(passkey).filter((name) => !NAMES.includes(name));
  rejectNames(others, where);
  const { id, public_key, added_at, removed_at } = passkey;
  if (typeof id !== 'string' || !decodeBase64Url(id)?.length)
    throw new SyntaxError(`${where} has no id in base64url`);
  const bytes = typeof public_key === 'string' ? decodeBase64Url(public_key) : null;
  if (!bytes) throw new SyntaxError(`${where} has no public_key in base64url`);
  const key = await readKey(bytes, id);
  return [
    id,
    { member, key, addedAt: readTime(added_at, where), removedAt: readTime(removed_at, where) },
  ];
}

async function readKey(bytes: Uint8Array, id: string): Promise<SignatureKey> {
  try {
    return await readCoseKey(bytes);
  } catch (error) {
    throw new SyntaxError(`the public_key of ${id} ${(error as Error).message}`);
  }
}

function readTime(value: Json | undefined, where: string): number | null {
  if (value === undefined || value === null) return null;
  const time = typeof value === 'string' ? parseTime(value) : Number.NaN;
  if (Number.isNaN(time))
    throw new SyntaxError(`${where} has a time that is none: ${JSON.stringify(value)}`);
  return time;
}

function requireObject(value: Json | undefined, where: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new SyntaxError(`${where} is not an object`);
}

/** A misspelled name must not have a removed passkey pass as a current one. */
function rejectNames([name]: string[], where: string): void {
  if (name !== undefined) throw new SyntaxError(`${where} has an unknown ${JSON.stringify(name)}`);
}

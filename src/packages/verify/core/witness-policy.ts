import { concatBytes, decodeBase64, isEqual, sha256, toBase64Url, toHex, utf8 } from './bytes.ts';
import type { Note } from './note.ts';
import { importEd25519 } from './signature.ts';

/** The key of a witness that makes Ed25519 cosignatures (https://c2sp.org/tlog-cosignature). */
interface WitnessKey {
  /** The name with which its signature lines begin. */
  name: string;
  keyId: Uint8Array;
  bytes: Uint8Array;
}

/** A group that has witnessed a head if enough of its members have. */
interface Group {
  threshold: number;
  members: string[];
}

/** Which witnesses somebody trusts, and how many have to agree (https://c2sp.org/tlog-policy). */
export interface WitnessPolicy {
  /** By their names in the policy. */
  witnesses: Map<string, WitnessKey>;
  groups: Map<string, Group>;
  /** The name of a witness or group; null if the policy says `quorum none`. */
  quorum: string | null;
}

/** A cosignature that a witness of the policy made. */
export interface Cosignature {
  /** The name of the witness in the policy. */
  witness: string;
  /** When it was made, as ISO 8601. */
  time: string;
}

const COSIGNATURE_TYPE = 4;
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u;

/**
 * Reads a trust policy. Its `log` lines are skipped: the key of the log is given otherwise.
 * @throws SyntaxError if it is malformed
 */
export async function readWitnessPolicy(text: string): Promise<WitnessPolicy> {
  const policy: WitnessPolicy = { witnesses: new Map(), groups: new Map(), quorum: null };
  const members = new Set<string>();
  let quorums = 0;
  for (const line of text.split('\n')) {
    const [keyword = '', name = '', ...rest] = line.split(/[ \t]+/).filter((item) => item !== '');
    if (keyword === '' || keyword.startsWith('#') || keyword === 'log') continue;
    if (keyword === 'witness') await addWitness(policy, name, rest);
    else if (keyword === 'group') addGroup(policy, members, name, rest);
    else if (keyword === 'quorum') {
      if (name !== 'none') requireDefined(policy, name);
      policy.quorum = name === 'none' ? null : name;
      quorums++;
    } else throw new SyntaxError(`has an unknown line: ${keyword}`);
  }
  if (quorums !== 1) throw new SyntaxError('must have exactly one quorum line');
  return policy;
}

async function addWitness(policy: WitnessPolicy, name: string, [key = '']: string[]) {
  requireNew(policy, name);
  const read = await readWitnessKey(key, name);
  if ([...policy.witnesses.values()].some(({ bytes }) => isEqual(bytes, read.bytes)))
    throw new SyntaxError(`has the key of ${name} twice`);
  policy.witnesses.set(name, read);
}

async function readWitnessKey(text: string, where: string): Promise<WitnessKey> {
  const [, name = '', id, encoded = ''] = VERIFIER_KEY.exec(text) ?? [];
  const bytes = decodeBase64(encoded);
  if (bytes?.length !== 33 || bytes[0] !== COSIGNATURE_TYPE)
    throw new SyntaxError(`has no key of type 0x04 for ${where}`);
  const hash = await sha256(concatBytes(utf8(`${name}\n`), bytes));
  const keyId = hash.subarray(0, 4);
  if (toHex(keyId) !== id) throw new SyntaxError(`has a wrong key id for ${where}`);
  return { name, keyId, bytes: bytes.subarray(1) };
}

function addGroup(
  policy: WitnessPolicy,
  members: Set<string>,
  name: string,
  [count = '', ...names]: string[],
) {
  requireNew(policy, name);
  for (const member of names) {
    requireDefined(policy, member);
    if (members.has(member)) throw new SyntaxError(`has ${member} in two groups`);
    members.add(member);
  }
  const threshold = thresholdOf(count, names.length);
  if (threshold === null) throw new SyntaxError(`has no threshold for the group ${name}`);
  policy.groups.set(name, { threshold, members: names });
}

function thresholdOf(count: string, size: number): number | null {
  if (count === 'any' && size > 0) return 1;
  if (count === 'all' && size > 0) return size;
  const number = /^[1-9]\d*$/.test(count) ? Number(count) : 0;
  return number >= 1 && number <= size ? number : null;
}

function requireNew({ witnesses, groups }: WitnessPolicy, name: string): void {
  if (name === '' || name === 'none' || witnesses.has(name) || groups.has(name))
    throw new SyntaxError(`has the name ${JSON.stringify(name)} twice, or it is not allowed`);
}

function requireDefined({ witnesses, groups }: WitnessPolicy, name: string): void {
  if (!witnesses.has(name) && !groups.has(name))
    throw new SyntaxError(`uses ${JSON.stringify(name)} before it is defined`);
}

/**
 * Finds the cosignatures of a note by witnesses of a policy. Ignores those of other keys.
 * @throws SyntaxError if one names a key of the policy, but that key did not make it
 */
export async function findCosignatures(
  { text, signatures }: Note,
  { witnesses }: WitnessPolicy,
): Promise<Cosignature[]> {
  const found: Cosignature[] = [];
  for (const [witness, { name, keyId, bytes }] of witnesses) {
    const line = signatures.find((one) => one.name === name && isEqual(one.keyId, keyId));
    if (!line) continue;
    const seconds = readTime(line.signature);
    const key = await importEd25519(toBase64Url(bytes));
    const message = utf8(`cosignature/v1\ntime ${seconds}\n${text}`);
    if (seconds === null || !(await key.hasSigned(message, line.signature.subarray(8))))
      throw new SyntaxError(`has a cosignature that the key of ${witness} did not make`);
    found.push({ witness, time: new Date(Number(seconds) * 1_000).toISOString() });
  }
  return found;
}

/** The time of a cosignature, in seconds; null if it has none that a date can hold. */
function readTime(signature: Uint8Array): bigint | null {
  if (signature.length !== 8 + 64) return null;
  const time = new DataView(signature.slice(0, 8).buffer).getBigUint64(0);
  return time > 0n && time < 8_640_000_000_000n ? time : null;
}

/** Whether these witnesses are enough for the policy. */
export function isQuorum(policy: WitnessPolicy, cosigned: ReadonlySet<string>): boolean {
  const hasWitnessed = (name: string): boolean => {
    const group = policy.groups.get(name);
    if (!group) return cosigned.has(name);
    return group.members.filter(hasWitnessed).length >= group.threshold;
  };
  return policy.quorum === null || hasWitnessed(policy.quorum);
}

/** A witness of logs (https://c2sp.org/tlog-witness). */
export interface Witness {
  /** Its name in the list. */
  label: string;
  /** The name of its key, with which its signature lines begin. */
  name: string;
  /** The id of its key. */
  keyId: Uint8Array<ArrayBuffer>;
  /** Its Ed25519 public key. */
  publicKey: Uint8Array<ArrayBuffer>;
  /** Its submission prefix, without a slash at the end. */
  url: string;
}

const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/;
/** The type of a key that makes Ed25519 cosignatures (https://c2sp.org/tlog-cosignature). */
export const COSIGNATURE_TYPE = 4;

/**
 * Reads the `witness` lines of a trust policy (https://c2sp.org/tlog-policy),
 * `witness <name> <vkey> <url>`. Lines of other kinds are for verifiers, and are skipped.
 * @returns null if a line is malformed, two have the same name or key, or a key is not of type 0x04
 */
export function parseWitnesses(policy: string): Witness[] | null {
  const lines = policy.split('\n').map((line) => line.trim().split(/[ \t]+/));
  const witnesses = lines
    .filter(([keyword]) => keyword === 'witness')
    .map(([, label = '', key = '', url = '', ...more]) =>
      more.length > 0 ? null : parseWitness(label, key, url),
    );
  const valid = witnesses.filter((witness) => witness !== null);
  const labels = new Set(valid.map(({ label }) => label));
  const keys = new Set(valid.map(({ publicKey }) => publicKey.toHex()));
  const isValid = [valid.length, labels.size, keys.size].every((n) => n === witnesses.length);
  return isValid ? valid : null;
}

function parseWitness(label: string, key: string, url: string): Witness | null {
  const [, name, id, encoded] = VERIFIER_KEY.exec(key) ?? [];
  const address = URL.parse(url);
  const isAddress = address && /^https?:$/.test(address.protocol) && !address.search;
  if (name === undefined || id === undefined || encoded === undefined || !isAddress) return null;
  const [type, ...publicKey] = Uint8Array.fromBase64(encoded);
  if (type !== COSIGNATURE_TYPE) return null;
  return {
    label,
    name,
    keyId: Uint8Array.fromHex(id),
    publicKey: new Uint8Array(publicKey),
    url: url.replace(/\/$/, ''),
  };
}

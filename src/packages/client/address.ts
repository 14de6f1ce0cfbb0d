/**
 * Returns what is wrong with the address of a service, as the rest of a sentence that begins with
 * its name; null if nothing is.
 */
export function findAddressFault(address: string): string | null {
  const url = URL.canParse(address) && new URL(address);
  const isWeb = url && /^https?:$/.test(url.protocol);
  if (isWeb && (url.username || url.password))
    return 'holds a user name or a password, which is not sent.';
  if (isWeb && !url.search && !url.hash) return null;
  const fault = `is not the address of a service. Write ${suggestAddress(address)}.`;
  // What is before an @ may be a password.
  if (address.includes('@')) return fault;
  return `${JSON.stringify(address)} ${fault}`;
}

/** Returns the address that was probably meant. */
function suggestAddress(address: string): string {
  const isLocal = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?\/*$/.test(address);
  if (isLocal) return `http://${address}`;
  const isHost = /^([a-z0-9-]+\.)+[a-z0-9-]+(:\d{1,5})?\/*$/i.test(address);
  if (isHost) return `https://${address}`;
  return 'one such as https://countersign.example.com';
}

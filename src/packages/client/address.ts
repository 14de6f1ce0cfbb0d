/**
 * Returns what is wrong with the address of a service, as the rest of a sentence that begins with
 * its name; null if nothing is.
 */
export function findAddressFault(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (isWeb && (url.username || url.password))
    return 'holds a user name or a password, which is not sent.';
  if (isWeb && !url.search && !url.hash) return null;
  // What is before an @ may be a password.
  const given = address.includes('@') ? '' : `${JSON.stringify(address)} `;
  return `${given}is not the address of a service. Write ${suggestAddress(address)}.`;
}

/** Returns the address that was probably meant. */
function suggestAddress(address: string): string {
  const isLocal = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?\/*$/.test(address);
  if (isLocal) return `http://${address}`;
  const isHost = /^([a-z0-9-]+\.)+[a-z0-9-]+(:\d{1,5})?\/*$/i.test(address);
  return isHost ? `https://${address}` : 'one such as https://countersign.example.com';
}

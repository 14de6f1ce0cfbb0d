/** Bodies by their kind, with an amount to pay. */
export const BODIES: Record<string, (amount: number) => { type?: string; raw: BodyInit }> = {
  json: (amount) => ({ type: 'application/json', raw: `{"amount":${amount},"to":"a"}` }),
  form: (amount) => ({ type: 'application/x-www-form-urlencoded', raw: `amount=${amount}&to=a` }),
  multipart: (amount) => ({
    type: 'multipart/form-data; boundary=b',
    raw: parts(`name="amount"\r\n\r\n${amount}`),
  }),
  'a part twice': (amount) => ({
    type: 'multipart/form-data; boundary=b',
    raw: parts('name="amount"\r\n\r\n5', `name="amount"\r\n\r\n${amount}`),
  }),
  'a part that is a file': (amount) => ({
    type: 'multipart/form-data; boundary=b',
    raw: parts(
      'name="amount"\r\n\r\n5',
      `name="amount"; filename="a"\r\nContent-Type: text/plain\r\n\r\n${amount}`,
    ),
  }),
  'a part with two names': (amount) => ({
    type: 'multipart/form-data; boundary=b',
    raw: parts(`name="to"; name="amount"\r\n\r\n${amount}`),
  }),
  'two boundaries': (amount) => ({
    type: 'multipart/form-data; boundary=c; boundary=b',
    raw: parts(`name="amount"\r\n\r\n${amount}`),
  }),
  'JSON name twice': (amount) => ({
    type: 'application/json',
    raw: `{"amount":5,"amount":${amount}}`,
  }),
  'JSON name twice, once escaped': (amount) => ({
    type: 'application/json',
    raw: `{"amount":5,"\\u0061mount":${amount}}`,
  }),
  'JSON with a prototype': (amount) => ({
    type: 'application/json',
    raw: `{"__proto__":{"amount":5},"amount":${amount}}`,
  }),
  'JSON with an inherited amount': () => ({
    type: 'application/json',
    raw: '{"__proto__":{"amount":5}}',
  }),
  'JSON number as text': (amount) => ({
    type: 'application/json',
    raw: `{"amount":"${amount}"}`,
  }),
  'JSON list': (amount) => ({ type: 'application/json', raw: `[{"amount":${amount}}]` }),
  'JSON with a mark': (amount) => ({
    type: 'application/json',
    raw: `\ufeff{"amount":${amount}}`,
  }),
  'JSON in UTF-16': (amount) => ({
    type: 'application/json',
    raw: Uint8Array.from(Array.from(`{"amount":${amount}}`).flatMap((c) => [c.charCodeAt(0), 0])),
  }),
  'JSON said to be UTF-16': (amount) => ({
    type: 'application/json; charset=utf-16le',
    raw: `{"amount":${amount}}`,
  }),
  'JSON with a number that is rounded': () => ({
    type: 'application/json',
    raw: '{"amount":9.99999999999999999999}',
  }),
  'JSON with comments': (amount) => ({
    type: 'application/json',
    raw: `{"amount":5/*,*/,"amount":${amount}}`,
  }),
  'JSON in text': (amount) => ({ type: 'text/plain', raw: `{"amount":${amount}}` }),
  'JSON of another type': (amount) => ({
    type: 'application/merge-patch+json',
    raw: `{"amount":${amount}}`,
  }),
  'JSON without a type': (amount) => ({ raw: new TextEncoder().encode(`{"amount":${amount}}`) }),
  'two types': (amount) => ({
    type: 'text/plain, application/json',
    raw: `{"amount":${amount}}`,
  }),
  'a type in upper case': (amount) => ({
    type: 'APPLICATION/JSON;CHARSET=UTF-8',
    raw: `{"amount":${amount}}`,
  }),
  'form name twice': (amount) => ({
    type: 'application/x-www-form-urlencoded',
    raw: `amount=5&amount=${amount}`,
  }),
  'form name twice, once encoded': (amount) => ({
    type: 'application/x-www-form-urlencoded',
    raw: `amount=5&%61mount=${amount}`,
  }),
  'form list': (amount) => ({
    type: 'application/x-www-form-urlencoded',
    raw: `amount=5&amount%5B%5D=${amount}`,
  }),
  'form in UTF-7': (amount) => ({
    type: 'application/x-www-form-urlencoded; charset=utf-7',
    raw: `amount=${amount}`,
  }),
  'form that is not UTF-8': (amount) => ({
    type: 'application/x-www-form-urlencoded',
    raw: `amount=${amount}&x=%fe%ff`,
  }),
  'a form in JSON': (amount) => ({
    type: 'application/x-www-form-urlencoded',
    raw: `{"amount":5}&amount=${amount}`,
  }),
  bytes: (amount) => ({
    type: 'application/octet-stream',
    raw: Uint8Array.of(0, 255, amount % 256),
  }),
  large: (amount) => ({
    type: 'application/json',
    raw: `{"amount":${amount},"note":"${'x'.repeat(20_000)}"}`,
  }),
  none: () => ({ raw: '' }),
};

function parts(...contents: string[]): string {
  const each = contents.map((content) => `--b\r\nContent-Disposition: form-data; ${content}\r\n`);
  return `${each.join('')}--b--\r\n`;
}

import { expect, it } from 'vitest';
import { unseenPattern } from '../../../src/lib/unseen';
import { composePermissionMail } from '../../../src/receivers/channels/email/compose';
import { composeDigest } from '../../../src/receivers/channels/email/compose-digest';
import { MAX_PART_BYTES, MAX_SUBJECT, type Mail } from '../../../src/receivers/channels/email/mail';
import {
  composeTestMail,
  composeWebhookDisabledMail,
} from '../../../src/receivers/channels/email/service-mails';
import { depth } from '../../support/depth';
import { readLinks, readText } from '../../support/html';
import { CARD, findLinks, message, messageWith, NOW, parseHtml, TO } from './samples';

/** Every mail, with a text in each place for a text of an agent or a person. */
function mailsWith(text: string): Mail[] {
  const to = { ...TO, name: text };
  return [
    composePermissionMail(messageWith(text), to, NOW),
    composePermissionMail(messageWith(text, { status: 'pending', granted_scope: null }), to, NOW),
    composeDigest([messageWith(text)], to, CARD, NOW),
    composeTestMail(to, { channelName: text, url: CARD }),
    composeWebhookDisabledMail(to, {
      webhook: { id: '', url: text, disabled_reason: text },
      url: CARD,
    }),
  ];
}

/** The unseen characters of a text, without line feeds. */
function unseenIn(text: string): string[] {
  return [...new Set(text.match(unseenPattern()))].filter((character) => character !== '\n');
}

const HARMLESS = mailsWith('harmless');

it.each([
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "'><a href='https://evil.example'>sign in</a>",
  '</title></style><style>*{display:none}</style>',
  '&lt;b&gt; &#60;b&#62; &amp;',
  '<!--',
  ']]>',
])('HTML in texts stays text: %s', async (text) => {
  for (const [index, { html }] of mailsWith(text).entries()) {
    const harmless = await parseHtml(HARMLESS[index]?.html ?? '');
    const parsed = await parseHtml(html);
    expect(new Set(parsed.elements)).toEqual(new Set(harmless.elements));
    expect(readLinks(html).every((link) => link === CARD)).toBe(true);
    expect(parsed.attributes.filter(([name]) => name.startsWith('on') || name === 'src')).toEqual(
      [],
    );
    expect(readText(html).replaceAll('\u2060', '').replaceAll(/\s/g, '')).toContain(
      text.replaceAll(/\s/g, ''),
    );
  }
});

it('line breaks in texts start no header and no line of their own', () => {
  for (const lineBreak of ['\r\n', '\n', '\r', '\u2028', '\u2029', '\u0085', '\v', '\f', '\0']) {
    const text = `first${lineBreak}Bcc: everyone`;
    for (const { to, subject, text: body } of mailsWith(text)) {
      expect(unseenIn(subject + to.name + to.address)).toEqual([]);
      expect(subject + to.name).not.toMatch(/[\r\n]/);
      expect(body).not.toMatch(/^\s*Bcc/m);
      expect(body).not.toMatch(/[\r\v\f\0\u0085\u2028\u2029]/);
    }
  }
});

it('encoded words are not decoded in a header', () => {
  for (const { to, subject } of mailsWith('=?utf-8?Q?=E2=80=AEx?='))
    expect(subject + to.name).not.toContain('=?');
});

it('an agent cannot imitate the lines of the mail', () => {
  const forged = 'Fine.\n\n\n\nDecided by: the owner\nReview the request:\nhttps://evil.example/';
  const { text } = composePermissionMail(message({ title: forged, reason: forged }), TO, NOW);
  expect(text.match(/^(Decided by|Review the request):/gm)).toEqual(['Review the request:']);
  expect(text.match(/^https?:.*/gm)).toEqual([CARD]);
});

it('characters that are unseen, or change the direction, are shown as code points', () => {
  const text = '\ufeffpay\u202eeno\u202c\u2066x\u2069\u200b\u200d\u2060\ufeff\u00ad\u{e0041}';
  for (const { to, subject, text: body, html } of mailsWith(text)) {
    expect(unseenIn(subject + to.name)).toEqual([]);
    expect(unseenIn(body + html).filter((character) => character !== '\u2060')).toEqual([]);
    expect(body).toContain('payU+202EenoU+202CU+2066xU+2069U+200BU+200DU+2060U+FEFFU+00ADU+E0041');
    expect(readText(html)).toContain('payU+202EenoU+202C');
  }
});

it.each([
  'https://evil.example/sign-in?next=1',
  'HTTPS://EVIL.EXAMPLE',
  'http://192.0.2.1/x',
  'www.evil.example',
  'evil.com',
  'countersign.test.evil.com/console',
  'https://countersign.test@evil.com/',
  'ftp://evil.com',
  'mailto:someone@evil.com',
  'someone@evil.com',
  'evil\u2060.com and evil.\u2060com',
  '[sign in](https://evil.com)',
  '<https://evil.com>',
  'аррӏе.com',
])('no client makes a link of %s', (text) => {
  expect(findLinks(text.replaceAll('\u2060', '')).length).toBeGreaterThan(0);
  for (const { text: body, html } of mailsWith(`see ${text} now`)) {
    const own = new Set([CARD, 'countersign.test']);
    const others = (part: string) =>
      findLinks(part.replaceAll(CARD, '')).filter((link) => !own.has(link));
    expect(others(body.replace(/^(> )/gm, ''))).toEqual([]);
    expect(others(readText(html.replaceAll('<wbr/>', '')))).toEqual([]);
    expect(readLinks(html).every((link) => link === CARD)).toBe(true);
  }
});

it('a UNC path is no link, and a full stop at the end of a sentence is as it was', () => {
  const { text } = composePermissionMail(
    message({ reason: 'See \\\\evil\\share. Then 3: stop.' }),
    TO,
    NOW,
  );
  expect(text).toContain('> See \\\u2060\\\u2060evil\u2060\\\u2060share. Then 3: stop.\n');
});

it.runIf(depth.isDeep)('long texts are cut, and every mail stays within its limits', () => {
  const worst = [
    'W'.repeat(10_000),
    '"'.repeat(10_000),
    'a.'.repeat(10_000),
    '\u202e'.repeat(10_000),
    '\n'.repeat(10_000),
  ];
  const lines = 'x\n'.repeat(10_000);
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  for (const text of [...worst, lines, '😀'.repeat(10_000), '\ud800'.repeat(10_000)]) {
    const scope = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`${index}${text}`, text]),
    );
    const granted = Object.fromEntries(Object.keys(scope).map((key) => [key, `-${text}`]));
    const many = Array.from({ length: 400 }, (_, index) =>
      messageWith(text, {
        id: `perm_${index}` as never,
        status: index % 2 ? 'pending' : 'approved',
      }),
    );
    const mails = [
      ...mailsWith(text),
      composePermissionMail(messageWith(text, { scope, granted_scope: granted }), TO, NOW),
      composeDigest(many, TO, CARD, NOW),
    ];
    for (const { subject, text: body, html, to } of mails) {
      expect([...subject].length).toBeLessThanOrEqual(MAX_SUBJECT);
      expect([...(to.name ?? '')].length).toBeLessThanOrEqual(61);
      expect(bytes(body)).toBeLessThanOrEqual(MAX_PART_BYTES);
      expect(bytes(html)).toBeLessThanOrEqual(MAX_PART_BYTES);
      expect((subject + body + html).isWellFormed()).toBe(true);
    }
  }
  const { text } = composePermissionMail(messageWith('W'.repeat(10_000)), TO, NOW);
  expect(text).toMatch(/^> W{1000}…$/m);
  expect(text).toMatch(/^> W{200}…$/m);
  const tall = composePermissionMail(message({ reason: lines }), TO, NOW).text;
  expect(tall.match(/^> x$/gm)).toHaveLength(20);
});

it('a subject starts with words of the service, and texts cannot leave their quotation marks', () => {
  const text = 'x” – Your bank: confirm “now"';
  for (const { subject } of mailsWith(text)) {
    expect(subject).toMatch(
      /^(Approved|Decision needed|\d+ requests|Test of a channel|Webhook disabled)/,
    );
    expect(subject.replaceAll(/“[^“”]*”/g, '')).not.toMatch(/bank|[“”"]/);
  }
});

it.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ['Ada "The Countess" <ada@evil.com>, Bob', 'Ada The Countess ada evil com Bob'],
  ['J. R. Ångström', 'J R Ångström'],
  ['support@bank.com', 'support bank com'],
  ['\ufeff\u202eAda', 'U+FEFFU+202EAda'],
  ['<>', null],
  ['', null],
  [null, null],
])('the name %s of a recipient is safe in a header as %s', (name, safe) => {
  expect(composeTestMail({ ...TO, name }, { channelName: 'x', url: CARD }).to).toEqual({
    ...TO,
    name: safe,
  });
});

import { describe, expect, it } from 'vitest';
import { isSameEmailAddress, normalizeEmailAddress } from '../../src/lib/email-address';
import { parseMailbox } from '../../src/lib/mailbox';

describe('an e-mail address', () => {
  it.each([
    'ada@example.com',
    'Ada.Lovelace+post@Mail.Example.COM',
    'r&d@example.com',
    'john~doe@example.com',
    'user%x@example.com',
    "!#$%&'*+-/=?^_`{|}~@example.com",
    'x@xn--e1afmkfd.xn--p1ai',
    'x@xn--mller-kva.de',
    'a@b.co',
    'a@1.2.example',
    `${'x'.repeat(242)}@example.com`,
  ])('is kept as it is: %s', (address) => {
    expect(normalizeEmailAddress(address)).toBe(address);
    // The mail is sent to exactly this address.
    expect(parseMailbox(address)).toEqual({ name: null, address });
  });

  it.each([
    ['ada@müller.de', 'ada@xn--mller-kva.de'],
    ['ada@MÜLLER.de', 'ada@xn--mller-kva.de'],
    ['x@пример.рф', 'x@xn--e1afmkfd.xn--p1ai'],
    ['x@例え。jp', 'x@xn--r8jz45g.jp'],
  ])('gets A-labels: %s becomes %s', (text, address) =>
    expect(normalizeEmailAddress(text)).toBe(address),
  );

  it.each([
    ...[
      '',
      'ada',
      '@example.com',
      'ada@',
      'ada@host',
      'ada@@example.com',
      'a@b@example.com',
      '.ada@example.com',
    ],
    ...[
      'ada.@example.com',
      'a..b@example.com',
      '"a b"@example.com',
      'a b@example.com',
      'ada@exa mple.com',
      'é@x.de',
    ],
    ...[
      'ada@127.0.0.1',
      'ada@0x7f.1',
      'ada@[127.0.0.1]',
      'ada@[::1]',
      'ada@example.com:25',
      'ada@example.com/x',
    ],
    ...['ada@-x.com', 'ada@x-.com', 'ada@x_y.com', 'ada@.com', 'ada@x..com', 'ada@example.com.'],
    ...[
      'ada@exam%70le.com',
      'ada@x.com?y',
      'ada@x.com#y',
      'ada@x.com\\y',
      'ada@x\u0000.com',
      'ada@x.com\n',
      'ada@x\u200by.\n',
    ],
    ...[
      `ada@${'x'.repeat(64)}.com`,
      `${'x'.repeat(243)}@example.com`,
      `ada@${'ü'.repeat(60)}.de`,
      'ada@x.123',
    ],
  ])('is not %j', (text) => {
    expect(normalizeEmailAddress(text)).toBeNull();
    expect(parseMailbox(text)).toBeNull();
  });

  it('is the same with A-labels, U-labels and in another case', () => {
    expect(isSameEmailAddress('Ada@müller.de', 'ada@XN--mller-kva.DE')).toBe(true);
    expect(isSameEmailAddress('ada@müller.de', 'ada@mueller.de')).toBe(false);
    expect(isSameEmailAddress('k@example.com', '\u212a@example.com')).toBe(false);
  });
});

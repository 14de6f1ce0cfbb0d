import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/lib/json';
import { findWidenings } from '../../../src/permissions/find-widenings';
import type { RequestedLimits } from '../../../src/permissions/limits';
import { pathLabel } from '../../../src/permissions/path-label';
import type { Permission } from '../../../src/permissions/permission';
import type { Preview } from '../../../src/permissions/preview';
import { callSlack } from '../../../src/receivers/channels/slack/api';
import type { InputBlock, ModalView } from '../../../src/receivers/channels/slack/blocks';
import { readInteraction } from '../../../src/receivers/channels/slack/interaction';
import { decisionModal } from '../../../src/receivers/channels/slack/modal';
import { readFields } from '../../../src/receivers/channels/slack/read-fields';
import { depth } from '../../support/depth';
import { FakeSlack, fillView, markupIn, plainTextsIn, viewFaults } from '../../support/slack';
import { World } from '../../support/world';
import { CARD, HOSTILE_TEXTS, permissionWith, UNSEEN_TEXTS } from './samples';

const SCOPE: JsonObject = {
  amount: 1840.5,
  recipients: ['a@example.com', 'b@example.com', 'c@example.com'],
  is_internal: true,
  mode: 'read',
  window: { days: 5, unit: 'day' },
};

function limitsWith(scope: JsonObject): RequestedLimits {
  return { scope, token_ttl: 900, max_uses: 3 };
}

interface Fields {
  permission?: Partial<Permission>;
  preview?: Preview | null;
  input?: string | null;
  agentName?: string;
  votes?: number;
}

function modalOrNull(scope: JsonObject, { permission, ...fields }: Fields = {}): ModalView | null {
  return decisionModal({
    permission: permissionWith({ scope, ...permission }),
    preview: null,
    input: null,
    proposal: limitsWith(scope),
    agentName: 'Mailer',
    cardUrl: CARD,
    votes: 0,
    ...fields,
  });
}

function modalWith(scope: JsonObject, fields: Fields = {}): ModalView {
  const view = modalOrNull(scope, fields);
  if (!view) throw new Error('It is too long.');
  return view;
}

function inputsOf({ blocks }: ModalView): InputBlock[] {
  return blocks.filter((block) => block.type === 'input');
}

function textOf(view: ModalView): string {
  return plainTextsIn(view)
    .map(({ text }) => text)
    .join('\n');
}

/** Submits a modal through the fake Slack, and reads the decision. */
function submit(scope: JsonObject, filled: Record<string, string | string[] | null>, from = scope) {
  const slack = new FakeSlack(new World());
  const interaction = readInteraction(slack.submit(modalWith(from), filled));
  if (interaction?.kind !== 'submission') throw new Error('It is no submission.');
  return readFields(interaction.values, limitsWith(scope));
}

const UNCHANGED = { decision: 'approve' };

describe('the modal', () => {
  it('has the fields of the service first, then one for each limit that can be narrowed, and shows the others', () => {
    const view = modalWith(SCOPE);
    expect(viewFaults(view)).toEqual([]);
    expect(inputsOf(view).map(({ block_id, label }) => [block_id, label.text])).toEqual([
      ['token_ttl', 'Time to act, in seconds'],
      ['max_uses', 'Times it may act'],
      ['limit-0', 'Limit `amount`'],
      ['limit-1', 'Limit `recipients`'],
      ['limit-4', 'Limit `window.days`'],
      ['reason', 'Reason'],
      ['decision', 'Decision'],
    ]);
    const [ttl, uses, amount, recipients] = inputsOf(view);
    expect(amount).toMatchObject({
      optional: false,
      hint: { text: 'At most 1,840.5' },
      element: {
        type: 'number_input',
        is_decimal_allowed: true,
        initial_value: '1840.5',
        max_value: '1840.5',
      },
    });
    expect(recipients?.element).toMatchObject({
      type: 'checkboxes',
      options: [
        { text: { text: 'a@example.com' }, value: '0' },
        { text: { text: 'b@example.com' }, value: '1' },
        { text: { text: 'c@example.com' }, value: '2' },
      ],
      initial_options: [{ value: '0' }, { value: '1' }, { value: '2' }],
    });
    expect(ttl).toMatchObject({
      hint: { text: 'At most 900 (15 min)' },
      element: {
        is_decimal_allowed: false,
        initial_value: '900',
        min_value: '30',
        max_value: '900',
      },
    });
    expect(uses?.element).toMatchObject({ initial_value: '3', min_value: '1', max_value: '3' });
    expect(textOf(view)).toContain(
      'These cannot be narrowed:\nLimit `is_internal`: true\nLimit `mode`: read\nLimit `window.unit`: day',
    );
    expect(textOf(view)).not.toContain('in Countersign only');
  });

  it('demands a decision and offers a reason', () => {
    const inputs = new Map(inputsOf(modalWith({})).map((block) => [block.block_id, block]));
    expect(inputs.get('decision')).toMatchObject({
      optional: false,
      element: { type: 'radio_buttons', options: [{ value: 'approve' }, { value: 'deny' }] },
    });
    expect(inputs.get('decision')?.element).not.toHaveProperty('initial_option');
    expect(inputs.get('reason')).toMatchObject({
      optional: true,
      element: { type: 'plain_text_input', max_length: 1_000 },
    });
  });

  it('shows the preview as words of the agent, and why the agent asks', () => {
    const preview: Preview = {
      title: 'Reply to ticket 4711',
      summary: 'A reply.',
      fields: [{ label: 'To', value: 'ada@example.com', kind: 'email' }],
      blocks: [{ kind: 'diff', title: 'Changes', text: '-a\n+b' }],
    };
    const view = modalWith({}, { preview, permission: { reason: 'She waits' } });
    const texts = plainTextsIn(view).map(({ text }) => text);
    const start = texts.indexOf('What the agent says it will do');
    expect(texts.slice(start, start + 5)).toEqual([
      'What the agent says it will do',
      'In the words of the agent. Nobody checked it.',
      'A reply.',
      'To: ada@example.com',
      'Changes\n-a\n+b',
    ]);
    expect(texts).toContain('Why it asks: She waits');
    expect(texts).toContain(
      "Resource: mailbox:support\nAction: email.send\nAgent: Mailer\nIn the agent's words: Reply to ticket 4711",
    );
    expect(view.blocks.every((block) => block.type !== 'section' || block.expand)).toBe(true);
  });

  it('shows no preview if the agent wrote none, and links to the card', () => {
    const view = modalWith({});
    expect(textOf(view)).not.toContain('What the agent says');
    expect(view.blocks).toContainEqual({
      type: 'actions',
      elements: [expect.objectContaining({ url: CARD })],
    });
  });

  it('warns that the arguments stay as they are', () => {
    const warning = 'The arguments stay as they are';
    expect(textOf(modalWith({}))).not.toContain(warning);
    expect(textOf(modalWith({}, { permission: { input_digest: 'sha-256:x' } }))).toContain(warning);
  });

  it('carries the permission and how many votes it has', () => {
    const metadata = JSON.parse(modalWith({}, { votes: 2 }).private_metadata);
    expect(metadata).toEqual({ permission: permissionWith().id, votes: 2 });
  });

  it('shows the arguments whole, as they are, in as many sections as they need', () => {
    const input = {
      to: 'ada@example.com',
      amounts: [0.1, 1e2],
      'a \u202e key': { deep: [true, null, ''] },
    };
    const view = modalWith({}, { input: JSON.stringify({ ...input, body: '<b>'.repeat(900) }) });
    expect(viewFaults(view)).toEqual([]);
    const texts = plainTextsIn(view).map(({ text }) => text);
    const start = texts.indexOf('Arguments');
    const shown = texts.slice(start + 2, texts.indexOf('Limits')).join('');
    expect(texts.slice(start + 2, texts.indexOf('Limits')).length).toBeGreaterThan(2);
    expect(JSON.parse(shown)).toEqual({
      ...{ to: input.to, amounts: input.amounts, body: '<b>'.repeat(900) },
      'a U+202E key': input['a \u202e key'],
    });
    expect(shown).toContain('"amounts": [\n    0.1,');
  });

  it.each(['null', '""', '{}', '0', '[]'])('shows arguments that are %s', (input) => {
    const texts = plainTextsIn(modalWith({}, { input })).map(({ text }) => text);
    expect(texts[texts.indexOf('Arguments') + 2]).toBe(input);
  });

  // Each grows in another way until it is in the body of a submission.
  it.each(['x', '"', '&', '/', 'ü', '語', '𝄞', '\u007f', '\n'])(
    'is shown only if its submission fits into 64 KiB: arguments of many %j',
    (character) => {
      const slack = new FakeSlack(new World());
      const modalOf = (length: number) =>
        modalOrNull(SCOPE, {
          input: JSON.stringify([character.repeat(length)]),
          preview: { title: 'x', summary: character.repeat(100) },
        });
      let [fits, exceeds] = [0, 40_000];
      while (exceeds - fits > 1) {
        const middle = Math.floor((fits + exceeds) / 2);
        if (modalOf(middle)) fits = middle;
        else exceeds = middle;
      }
      const view = modalOf(fits);
      if (!view) throw new Error('No modal fits.');
      expect(viewFaults(view)).toEqual([]);
      const sizeOf = (reason: string) => slack.submit(view, { reason, decision: 'approve' }).length;
      expect(sizeOf('𝄞'.repeat(1_000))).toBeLessThanOrEqual(64 * 1024);
      expect(sizeOf('')).toBeGreaterThan(20 * 1024);
    },
  );

  it('shows 16 KiB of preview whole', () => {
    const text = Array.from({ length: 4_000 }, (_, i) => i % 10).join('-');
    const preview: Preview = { title: 'x', blocks: [1, 2].map(() => ({ kind: 'text', text })) };
    const view = modalWith({}, { preview });
    expect(viewFaults(view)).toEqual([]);
    const shown = view.blocks
      .flatMap((block) => (block.type === 'section' ? block.text.text : []))
      .join('');
    expect(shown.split(text)).toHaveLength(3);
  });

  it.each(['<', '&', '\u202e', '𝄞', 'x'])('shows long texts of many %j whole', (character) => {
    const text = character.repeat(250);
    const preview: Preview = {
      title: text,
      summary: text,
      fields: [{ label: 'x', value: text }],
      blocks: [{ kind: 'text', title: 'x', text }],
    };
    const scope = Object.fromEntries(
      Array.from({ length: 5 }, (_, i) => [character.repeat(80) + i, i]),
    );
    const view = modalWith(scope, {
      preview,
      agentName: text,
      permission: { title: text, reason: text },
    });
    expect(viewFaults(view)).toEqual([]);
    expect(textOf(view).isWellFormed()).toBe(true);
    const shown = character === '\u202e' ? 'U+202E' : character;
    // The agent, its title and its reason, the summary, the field and the block.
    const count = textOf(view).replaceAll('\n', '').split(shown.repeat(50)).length - 1;
    expect(count).toBeGreaterThanOrEqual((6 * 250) / 50);
  });

  it('has 100 blocks at most: there is none for what needs more', () => {
    const modalOf = (sections: number) => {
      const blocks = Array.from({ length: sections }, () => ({ kind: 'text' as const, text: 'x' }));
      return modalOrNull({}, { preview: { title: 'x', blocks } });
    };
    const others = (modalOf(1)?.blocks.length ?? 0) - 1;
    const view = modalOf(100 - others);
    expect(view?.blocks).toHaveLength(100);
    expect(view && viewFaults(view)).toEqual([]);
    expect(modalOf(101 - others)).toBeNull();
  });

  it.each(HOSTILE_TEXTS)(
    'shows texts as they are, without mentions, links and markup: %s',
    async (text) => {
      const preview: Preview = {
        title: text,
        summary: text,
        fields: [{ label: text, value: text }],
        blocks: [{ kind: 'text', title: text, text }],
      };
      const scope = { [text]: 5, list: [text, 'b'], fixed: text };
      const view = modalWith(scope, {
        preview,
        agentName: text,
        permission: { title: text, reason: text },
      });
      expect(markupIn(view)).toEqual([]);
      expect(plainTextsIn(view).every(({ emoji }) => emoji === false)).toBe(true);
      const texts = plainTextsIn(view).map((shown) => shown.text);
      expect(texts).toEqual(
        expect.arrayContaining([
          text,
          `${text}: ${text}`,
          `${text}\n${text}`,
          `Why it asks: ${text}`,
        ]),
      );
      // The summary, and the member of the list, also as checked.
      expect(texts.filter((shown) => shown === text)).toHaveLength(3);
      expect(texts).toContain(`Limit \`${pathLabel([text])}\``);
      expect(viewFaults(view)).toEqual([]);
    },
  );

  it.each(UNSEEN_TEXTS)(
    'shows each unseen character of a scope as its code point: %j',
    (text, shown) => {
      const view = modalWith(
        { [text]: 5, list: [text, 'b'], fixed: text },
        { preview: { title: 'x', summary: '\u202e' } },
      );
      expect(textOf(view)).not.toContain(text);
      // The member of the list, also as checked.
      expect(plainTextsIn(view).filter((plain) => plain.text === shown)).toHaveLength(2);
      expect(plainTextsIn(view).map((plain) => plain.text)).toContain(
        `Limit \`${pathLabel([text])}\``,
      );
      expect(textOf(view)).toContain(`Limit \`fixed\`: ${shown}`);
      expect(textOf(view)).toContain('\nU+202E\n');
    },
  );
});

describe('a limit that is only shown', () => {
  const shownOnly = (scope: JsonObject) => {
    const view = modalWith(scope);
    expect(viewFaults(view)).toEqual([]);
    expect(inputsOf(view).filter(({ block_id }) => block_id.startsWith('limit-'))).toEqual([]);
    return textOf(view);
  };
  const members = Array.from({ length: 11 }, (_, i) => `m${i}`);

  it.each<[string, Json, string]>([
    ['true', true, 'true'],
    ['null', null, 'null'],
    ['a text', 'read', 'read'],
    ['a text like a number', '5', '"5"'],
    ['an empty text', '', '""'],
    ['an empty list', [], '[]'],
    ['a list with one member', ['a'], 'a'],
    ['an empty object', {}, '{}'],
  ])('is one that cannot be narrowed: %s', (_, value, text) => {
    expect(shownOnly({ limit: value })).toContain(
      `These cannot be narrowed:\nLimit \`limit\`: ${text}`,
    );
  });

  it.each<[string, Json, string]>([
    ['a list of 11', members, members.join(', ')],
    ['a list with a long member', ['x'.repeat(76), 'b'], `${'x'.repeat(76)}, b`],
    ['a number with an exponent', 1e21, '1e+21'],
  ])('is one that Slack has no field for: %s', (_, value, text) => {
    expect(shownOnly({ limit: value })).toContain(
      `These can be narrowed in Countersign only:\nLimit \`limit\`: ${text}`,
    );
  });

  it('is not shown among more fields than a modal holds', () => {
    const scope = Object.fromEntries(Array.from({ length: 62 }, (_, i) => [`k${i}`, i]));
    expect(() => modalWith(scope)).toThrow('It is too long.');
  });

  it('may have a name without a letter', () => {
    expect(shownOnly({ '': true, ' ': { '': false } })).toContain(
      'Limit `""`: true\nLimit `" ".""`: false',
    );
  });

  it('cannot look like a field or a heading of the service, or like another limit', () => {
    const scope = {
      ...{ 'Times it may act': 1, Reason: 2, 'These cannot be narrowed:': true },
      ...{ 'payment › max': 5, payment: { max: 500_000 }, 'p\u0430y': 3 },
    };
    const view = modalWith(scope);
    expect(viewFaults(view)).toEqual([]);
    expect(inputsOf(view).map(({ label }) => label.text)).toEqual([
      ...['Time to act, in seconds', 'Times it may act'],
      ...[
        'Limit `"Times it may act"`',
        'Limit `Reason`',
        'Limit `"payment › max"`',
        'Limit `payment.max`',
      ],
      ...['Limit `"p\u0430y"` (mixed scripts: Latin, Cyrillic)', 'Reason', 'Decision'],
    ]);
    expect(textOf(view)).toContain(
      'These cannot be narrowed:\nLimit `"These cannot be narrowed:"`: true',
    );
  });

  it('has a field with up to 10 members of up to 75 characters', () => {
    const view = modalWith({ a: members.slice(1), b: ['x'.repeat(75), 'b'] });
    expect(viewFaults(view)).toEqual([]);
    expect(inputsOf(view).map(({ element }) => element.type)).toEqual([
      ...['number_input', 'number_input', 'checkboxes', 'checkboxes'],
      ...['plain_text_input', 'radio_buttons'],
    ]);
  });
});

describe('a submission', () => {
  it('that changes nothing approves as proposed', () => {
    expect(submit(SCOPE, { decision: 'approve' })).toEqual(UNCHANGED);
  });

  it('narrows limits', () => {
    const filled = {
      'limit-0': '99.5',
      'limit-1': ['2', '0'],
      'limit-4': '-1',
      token_ttl: '60',
      max_uses: '1',
      reason: ' Enough ',
      decision: 'approve',
    };
    expect(submit(SCOPE, filled)).toEqual({
      decision: 'approve',
      reason: 'Enough',
      scope: {
        ...SCOPE,
        amount: 99.5,
        recipients: ['a@example.com', 'c@example.com'],
        window: { days: -1, unit: 'day' },
      },
      token_ttl: 60,
      max_uses: 1,
    });
  });

  it('that denies has a reason and no limits, whatever the fields hold', () => {
    const filled = {
      'limit-0': '5000',
      'limit-1': [],
      token_ttl: null,
      reason: 'Too much',
      decision: 'deny',
    };
    expect(submit(SCOPE, filled)).toEqual({ decision: 'deny', reason: 'Too much' });
  });

  it.each<[string, Record<string, string | string[] | null>, Record<string, string>]>([
    ['no decision', {}, { decision: 'Choose to approve or to deny.' }],
    [
      'a number above its maximum',
      { 'limit-0': '1840.51' },
      { 'limit-0': 'Enter at most 1,840.5.' },
    ],
    ['an empty number', { 'limit-0': null }, { 'limit-0': 'Enter a number.' }],
    ['a blank number', { 'limit-0': ' ' }, { 'limit-0': 'Enter a number.' }],
    ['no number', { 'limit-0': '0x10' }, { 'limit-0': 'Enter a number.' }],
    ['minus infinity', { 'limit-0': '-Infinity' }, { 'limit-0': 'Enter a number.' }],
    ['an endless number', { 'limit-0': '-1e999' }, { 'limit-0': 'Enter a number.' }],
    ['too many digits', { 'limit-0': '-9007199254740993' }, { 'limit-0': 'Enter fewer digits.' }],
    [
      'a fraction of too many digits',
      { 'limit-0': '0.1000000000000000055' },
      { 'limit-0': 'Enter fewer digits.' },
    ],
    ['an empty list', { 'limit-1': [] }, { 'limit-1': 'Keep at least one, or deny the request.' }],
    [
      'a long lifetime',
      { token_ttl: '901' },
      { token_ttl: 'Enter a whole number from 30 to 900.' },
    ],
    [
      'a short lifetime',
      { token_ttl: '29' },
      { token_ttl: 'Enter a whole number from 30 to 900.' },
    ],
    ['a fraction', { token_ttl: '60.5' }, { token_ttl: 'Enter a whole number from 30 to 900.' }],
    ['no lifetime', { token_ttl: null }, { token_ttl: 'Enter a whole number from 30 to 900.' }],
    ['too many uses', { max_uses: '4' }, { max_uses: 'Enter a whole number from 1 to 3.' }],
    ['no use', { max_uses: '0' }, { max_uses: 'Enter a whole number from 1 to 3.' }],
    [
      'a long reason',
      { reason: 'x'.repeat(1_001) },
      { reason: 'The reason must be 0 to 1000 characters long.' },
    ],
    ['a reason with NUL', { reason: 'a\0' }, { reason: 'The reason must not contain NUL.' }],
  ])('is refused at its field: %s', (_, filled, errors) => {
    const decision: Record<string, string> = 'decision' in errors ? {} : { decision: 'approve' };
    expect(submit(SCOPE, { ...filled, ...decision })).toEqual({ errors });
  });

  it('is refused at all wrong fields at once', () => {
    const filled = {
      'limit-0': '5000',
      'limit-1': [],
      token_ttl: '1',
      max_uses: '9',
      decision: 'approve',
    };
    expect(submit(SCOPE, filled)).toEqual({
      errors: {
        'limit-0': expect.any(String),
        'limit-1': expect.any(String),
        token_ttl: expect.any(String),
        max_uses: expect.any(String),
      },
    });
  });

  it('leaves limits as proposed for which the modal has no field', () => {
    expect(
      readFields(
        { decision: { value: { selected_option: { value: 'approve' } } } },
        limitsWith(SCOPE),
      ),
    ).toEqual(UNCHANGED);
  });

  it('cannot widen limits by fields that the modal did not have', () => {
    const wide = {
      amount: 5000,
      recipients: ['a@example.com', 'x@example.com'],
      is_internal: false,
      mode: 5,
    };
    const result = submit(SCOPE, { 'limit-0': '1840', 'limit-3': '5', decision: 'approve' }, wide);
    expect(result).toEqual({
      decision: 'approve',
      scope: { ...SCOPE, amount: 1840, recipients: ['a@example.com', 'b@example.com'] },
    });
    expect(
      readFields(
        { decision: { value: { selected_option: { value: 'revoke' } } } },
        limitsWith(SCOPE),
      ),
    ).toEqual({
      errors: { decision: 'Choose to approve or to deny.' },
    });
  });

  it('narrows a limit named like the prototype', () => {
    const scope = JSON.parse(
      '{"__proto__": ["x", "y"], "a": {"__proto__": {"b": 5}}, "constructor": 6}',
    );
    const result = submit(scope, {
      'limit-0': ['1'],
      'limit-1': '4',
      'limit-2': '5',
      decision: 'approve',
    });
    expect(JSON.stringify(result)).toBe(
      '{"decision":"approve","scope":{"__proto__":["y"],"a":{"__proto__":{"b":4}},"constructor":5}}',
    );
  });

  it('keeps a number that is left as it is, however it is written', () => {
    const scope = { a: 0.1 + 0.2, b: 9007199254740994, c: -0.5, d: 123456789012345680000 };
    expect(submit(scope, { decision: 'approve' })).toEqual(UNCHANGED);
    expect(submit(scope, { 'limit-1': '+9007199254740992', decision: 'approve' })).toMatchObject({
      scope: { b: 9007199254740992 },
    });
  });
});

it('every scope makes a modal that Slack accepts, and every submission grants no more than was proposed', () => {
  const scopes = fc.object({ maxDepth: 2, maxKeys: 8, withNullPrototype: false }).map(asJson);
  fc.assert(
    fc.property(scopes, fc.infiniteStream(fc.double()), (scope, numbers) => {
      const view = modalWith(scope);
      expect(viewFaults(view)).toEqual([]);
      const filled: Record<string, string | string[]> = { decision: 'approve' };
      for (const { block_id, element } of inputsOf(view)) {
        const number = numbers.next().value;
        if (element.type === 'number_input' && number > 0) filled[block_id] = String(number);
        if (element.type === 'checkboxes')
          filled[block_id] = element.options.slice(1).flatMap(({ value }) => value ?? []);
      }
      const result = readFields(fillView(view, filled), limitsWith(scope));
      if (!('errors' in result)) expect(findWidenings(scope, result.scope ?? scope)).toEqual([]);
    }),
    { numRuns: depth.runs(100, 2_000) },
  );
});

function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

it('is accepted by the service as an approval', async () => {
  const agent = await (await new World().account()).agent();
  const { id } = await agent.request({ scope: SCOPE, token_ttl: 900, max_uses: 3 });
  const filled = { 'limit-0': '9.5', 'limit-1': ['1'], max_uses: '2', decision: 'approve' };
  const result = submit(SCOPE, filled);
  if ('errors' in result) throw new Error(JSON.stringify(result));
  const { decision: _, ...approval } = result;
  const { body } = await agent.account.must(200, 'POST', `/v1/permissions/${id}/approve`, approval);
  expect(body.granted_scope).toEqual({ ...SCOPE, amount: 9.5, recipients: ['b@example.com'] });
  expect(body.token.max_uses).toBe(2);
});

it('opens in Slack within 3 seconds of the click, once', async () => {
  const world = new World();
  const slack = new FakeSlack(world);
  const open = (trigger_id: string) =>
    callSlack(world.runtime, slack.token, 'views.open', { trigger_id, view: modalWith(SCOPE) });
  const trigger = slack.trigger();
  expect(await open(trigger)).toMatchObject({ ok: true });
  expect(await open(trigger)).toMatchObject({ ok: false, error: 'invalid_trigger_id' });
  const late = slack.trigger();
  world.advance(3_001);
  expect(await open(late)).toMatchObject({ ok: false, error: 'expired_trigger_id' });
  expect(slack.views).toEqual([modalWith(SCOPE)]);
});

import * as z from 'zod';
import { CONNECTION_EFFECTS, CONNECTION_METHODS } from '../../db/schema';
import { choice, listOf, plainText } from '../../http/fields';
import { jsonSize } from '../../lib/json';
import { type LazyOutput, lazy } from '../../lib/lazy';
import { permissionFields } from '../../permissions/permission-fields';
import { SeriesInput } from '../../permissions/series/terms';
import { findPathPatternFault } from './path-pattern';
import { fieldOfReference, findTitleFault } from './template';

export const MAX_RULES = 100;
/** The methods that a rule can name. */
export const RULE_METHODS = CONNECTION_METHODS;
const MAX_RULES_BYTES = 64 * 1024;
const MAX_PATHS = 50;
const MAX_PATH_LENGTH = 512;
const MAX_SCOPE_KEYS = 20;
const MAX_SCOPE_KEY_LENGTH = 128;
const MAX_REFERENCE_LENGTH = 256;
const MAX_TITLE_LENGTH = 500;

const exampleRule = {
  methods: ['POST' as const],
  paths: ['/v1/refunds'],
  effect: 'ask' as const,
  action: 'refund.create',
  resource: 'payments:stripe',
  scope: { amount: '{amount}' },
  title: 'Refund {amount} of {payment_intent}',
  whole_input: true,
};

/** The rules of the examples: reads are allowed, refunds are asked for by name. */
export const exampleRules = [
  { methods: ['GET' as const, 'HEAD' as const], effect: 'allow' as const, whole_input: false },
  exampleRule,
];

const path = lazy(() =>
  plainText(MAX_PATH_LENGTH)
    .superRefine((value, refinement) => {
      const fault = findPathPatternFault(value);
      if (fault) refinement.addIssue({ code: 'custom', message: fault });
    })
    .meta({ minLength: 1, pattern: '^[/*]' }),
);

const scope = lazy(() =>
  z
    .record(
      plainText(MAX_SCOPE_KEY_LENGTH).min(1, 'must not be empty'),
      plainText(MAX_REFERENCE_LENGTH)
        .refine(
          (text) => fieldOfReference(text) !== null,
          'must be the name of a field in braces, such as {amount}',
        )
        .meta({ pattern: '^\\{[^{}]+\\}$' }),
    )
    .refine((value) => Object.keys(value).length <= MAX_SCOPE_KEYS, {
      message: `must have at most ${MAX_SCOPE_KEYS} keys`,
    })
    .meta({ maxProperties: MAX_SCOPE_KEYS }),
);

const title = lazy(() =>
  plainText(MAX_TITLE_LENGTH)
    .superRefine((value, refinement) => {
      const fault = findTitleFault(value);
      if (fault) refinement.addIssue({ code: 'custom', message: fault });
    })
    .meta({ minLength: 1 }),
);

/** A rule: how a connection treats the calls that it fits. */
export const ConnectionRule = lazy(() => {
  const { action, resource } = permissionFields();
  return z
    .strictObject({
      methods: listOf(choice(CONNECTION_METHODS), CONNECTION_METHODS.length)
        .refine((names) => new Set(names).size === names.length, 'must name each method once')
        .optional()
        .meta({ description: 'The methods that it matches; without it, every method.' }),
      paths: listOf(path(), MAX_PATHS)
        .optional()
        .meta({
          description:
            'Patterns of the path below `base_url`. One of them has to match; without any, every path does. `*` stands for any ' +
            'characters, `/` included.',
        }),
      effect: choice(CONNECTION_EFFECTS).meta({
        description:
          '`ask`: the call needs a permission. `allow`: it is sent without one, and only counted. `deny`: it is refused.',
      }),
      action: action.optional().meta({
        description:
          'The action of the permission; by default the slug and the method, such as `github.post`.',
      }),
      resource: resource.optional().meta({
        description: 'The resource of the permission; by default `url:`, the host and the path.',
      }),
      scope: scope()
        .optional()
        .meta({
          description:
            'The scope of the permission: for each key a field of the body or the query. A key whose field is missing is ' +
            'left out.',
        }),
      title: title().optional().meta({
        description: 'The title of the preview, in which `{field}` stands for a field of the call.',
      }),
      series: SeriesInput().optional().meta({
        description: 'A series that every request of this rule asks for.',
      }),
      whole_input: z.boolean().default(false).meta({
        description:
          'Whether to refuse a call with an input of more than 16 KiB. People would see only its size and digest.',
      }),
    })
    .superRefine((rule, refinement) => {
      for (const [i, key] of (rule.series?.varies ?? []).entries()) {
        if (Object.hasOwn(rule.scope ?? {}, key)) continue;
        refinement.addIssue({
          code: 'custom',
          path: ['series', 'varies', i],
          message: 'is no key of `scope`',
        });
      }
    })
    .meta({
      id: 'ConnectionRule',
      description: 'The way in which a connection treats the calls that match the rule.',
      examples: [exampleRule],
    });
});

export type ConnectionRule = LazyOutput<typeof ConnectionRule>;

/** The rules of a connection. */
export const rulesField = lazy(() =>
  listOf(ConnectionRule(), MAX_RULES, 0)
    .refine(
      (rules) => jsonSize(rules) <= MAX_RULES_BYTES,
      `must be at most ${MAX_RULES_BYTES} bytes of JSON together`,
    )
    .meta({
      description:
        'The first rule that matches a call counts. A call that matches no rule is refused.',
    }),
);

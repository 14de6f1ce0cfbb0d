import type { Child } from 'hono/jsx';
import type { ConnectionRule } from '../../connections/rules/rule';
import { Badge, Code, joinElements, Numeral, Written } from '../parts/inline';

const EFFECTS = {
  ask: { label: 'asks', state: 'review' },
  allow: { label: 'sent at once', state: 'approve' },
  deny: { label: 'refused', state: 'deny' },
} as const;

/** The rules of a connection in words, in the order in which they are tried. */
export function RuleList({ rules }: { rules: readonly ConnectionRule[] }) {
  if (rules.length === 0) return <p>There is no rule, so every call is refused.</p>;
  return (
    <>
      <ol class="rule-list">
        {rules.map((rule) => (
          <li>
            <RuleLine rule={rule} />
          </li>
        ))}
      </ol>
      <p class="soft">
        The first rule that matches a call counts. A call that matches no rule is refused.
      </p>
    </>
  );
}

function RuleLine({ rule }: { rule: ConnectionRule }) {
  const { methods, paths, effect, title, action, series } = rule;
  return (
    <>
      <Badge {...EFFECTS[effect]} /> {methods ? codes(methods, ' or ') : 'Every method'} on{' '}
      {paths ? codes(paths, ' or ') : 'every path'}
      {effect === 'ask' && (
        <small class="line">
          {title === undefined ? null : [' as “', <Written text={title} />, '”']}
          {title === undefined && action !== undefined && [' as ', <Code text={action} />]}
          {series && [', with a series of up to ', <Numeral of={series.requests} />]}
        </small>
      )}
    </>
  );
}

function codes(texts: readonly string[], last: string): Child[] {
  return joinElements(
    texts.map((text) => <Code text={text} />),
    last,
  );
}

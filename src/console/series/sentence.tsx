import type { Child } from 'hono/jsx';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json';
import type { NumberFormat } from '../../lib/number-format';
import { shorten } from '../../lib/text';
import { limitTexts, valueText } from '../../permissions/limit-texts';
import { pathLabel } from '../../permissions/path-label';
import { usePage } from '../frame/page-context';
import { Code, Count, joinElements, Written } from '../parts/inline';
import { MAX_IN_LIST } from '../parts/request';

interface SentenceProps {
  /** The number of further requests. */
  further: number;
  action: string;
  resource: string;
  /** The scope that the first permission is granted. */
  scope: JsonObject;
  varies: readonly string[];
}

/**
 * Says which requests a series approves: `the next 19 requests by this agent for refund.create on
 * shop:main, with max_amount of at most 200 and currency EUR each`.
 */
export function SeriesSentence({ further, action, resource, scope, varies }: SentenceProps) {
  const limits = Object.entries(scope).map(([key, value]) => (
    <LimitOfEach name={key} value={value} varies={varies.includes(key)} />
  ));
  return (
    <>
      <strong>
        the next <Count of={further} one="request" />
      </strong>{' '}
      by this agent for <Code text={action} /> on{' '}
      <strong>
        <Written text={shorten(resource, MAX_IN_LIST)} />
      </strong>
      {limits.length > 0 && [', with ', joinElements(limits, ' and '), ' each']}
    </>
  );
}

/** One limit of each request of a series: exactly a value, or at most so much. */
function LimitOfEach({ name, value, varies }: { name: string; value: Json; varies: boolean }) {
  const { formatNumber } = usePage();
  const shown = (text: string): Child => <Written text={shorten(text, MAX_IN_LIST)} />;
  const label = <Code text={shorten(pathLabel([name]), MAX_IN_LIST)} />;
  if (!varies) return [label, ' ', shown(textOf(value, formatNumber))];
  if (typeof value === 'number')
    return [label, ' of at most ', shown(valueText(value, formatNumber))];
  if (Array.isArray(value)) return [label, ' among ', shown(valueText(value, formatNumber))];
  return [label, ' within ', shown(textOf(value, formatNumber))];
}

/** A value in one line; of an object, its limits. */
function textOf(value: Json, formatNumber: NumberFormat): string {
  if (!isJsonObject(value)) return valueText(value, formatNumber);
  return limitTexts(value, formatNumber)
    .map(([label, text]) => `${label} ${text}`)
    .join(', ');
}

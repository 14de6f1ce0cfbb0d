import type { Child } from 'hono/jsx';
import { duration } from '../../lib/duration';
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import { pathLabel } from '../../permissions/path-label';
import type { ReviewedPermission } from '../../permissions/permission';
import { Table } from '../parts/blocks';
import { Code, Value } from '../parts/inline';
import { limitFields } from './limits-fields';

/**
 * The limits as requested, as the votes so far have left them, and as granted, with the differences
 * marked. Those of the service come last, in a table of their own.
 */
export function LimitsTables({ row }: { row: ReviewedPermission }) {
  const stages = stagesOf(row);
  const last = stages.at(-1)?.scope ?? {};
  const added = Object.keys(last).filter((key) => !Object.hasOwn(row.scope, key));
  const paths = [...limitFields(row.scope).map(({ path }) => path), ...added.map((key) => [key])];
  const names = stages.map(({ name }) => name);
  return (
    <>
      {paths.length > 0 && (
        <Table
          caption="Limits that the agent named"
          columns={['Limits that the agent named', ...names]}
        >
          {paths.map((path) => (
            <Row
              name={<Code text={pathLabel(path)} />}
              values={stages.map(({ scope }) => at(scope, path))}
            />
          ))}
        </Table>
      )}
      <Table caption="Time and uses" columns={['Time and uses', ...names]}>
        <Row name="Time to act, from the approval" values={stages.map(({ time }) => time)} />
        <Row name="Times it may act" values={stages.map(({ uses }) => uses)} />
      </Table>
    </>
  );
}

/** The limits at one time. */
interface Stage {
  name: string;
  scope: JsonObject;
  time: string | undefined;
  uses: number | undefined;
}

function stagesOf(row: ReviewedPermission): Stage[] {
  const { review, status, tokenExpiresAt, tokenIssuedAt } = row;
  const timeText = (seconds: number) => duration(seconds * SECOND);
  const requested = {
    name: 'Requested',
    scope: row.scope,
    time: timeText(row.tokenTtl),
    uses: row.maxUses,
  };
  if (status === 'approved') {
    const granted: Stage = {
      name: 'Granted',
      scope: row.grantedScope ?? {},
      time: undefined,
      uses: row.tokenMaxUses ?? undefined,
    };
    if (tokenExpiresAt !== null && tokenIssuedAt !== null)
      granted.time = duration(tokenExpiresAt - tokenIssuedAt);
    return [requested, granted];
  }
  if (status !== 'pending' || !review || review.votes.length === 0) return [requested];
  const { scope, tokenTtl, maxUses } = review.proposal;
  return [requested, { name: 'Proposed', scope, time: timeText(tokenTtl), uses: maxUses }];
}

function at(scope: JsonObject, path: string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    scope,
  );
}

function Row({
  name,
  values: [requested, ...later],
}: {
  name: Child;
  values: (Json | undefined)[];
}) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>
        <Value of={requested} />
      </td>
      {later.map((value) => (
        <td>
          <Compared value={value ?? null} requested={requested ?? null} />
        </td>
      ))}
    </tr>
  );
}

function Compared({ value, requested }: { value: Json; requested: Json }) {
  if (equalJson(value, requested)) return <span class="soft">the same</span>;
  return (
    <mark>
      <Value of={value} />
    </mark>
  );
}

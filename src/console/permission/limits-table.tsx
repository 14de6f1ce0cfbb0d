import { duration } from '../../lib/duration';
import { equalJson, isJsonObject, type Json, type JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import { valueText } from '../../permissions/limit-texts';
import type { ReviewedPermission } from '../../permissions/permission';
import { Table } from '../parts/blocks';
import { Written } from '../parts/inline';
import { limitFields } from './limits-fields';

/** The limits as requested, as the votes so far have left them, and as granted, with the differences marked. */
export function LimitsTable({ row }: { row: ReviewedPermission }) {
  const stages = stagesOf(row);
  const last = stages.at(-1)?.scope ?? {};
  const added = Object.keys(last).filter((key) => !Object.hasOwn(row.scope, key));
  return (
    <Table caption="Limits" columns={['Limit', ...stages.map(({ name }) => name)]}>
      {limitFields(row.scope).map(({ path, label }) => (
        <Row name={label} values={stages.map(({ scope }) => at(scope, path))} />
      ))}
      {added.map((key) => (
        <Row name={key} values={stages.map(({ scope }) => at(scope, [key]))} />
      ))}
      <Row name="Time to act, from the approval" values={stages.map(({ time }) => time)} />
      <Row name="Times it may act" values={stages.map(({ uses }) => uses)} />
    </Table>
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
  const requested = { name: 'Requested', scope: row.scope, time: timeText(row.tokenTtl), uses: row.maxUses };
  if (status === 'approved') {
    const time =
      tokenExpiresAt !== null && tokenIssuedAt !== null ? duration(tokenExpiresAt - tokenIssuedAt) : undefined;
    return [requested, { name: 'Granted', scope: row.grantedScope ?? {}, time, uses: row.tokenMaxUses ?? undefined }];
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

function Row({ name, values: [requested, ...later] }: { name: string; values: (Json | undefined)[] }) {
  return (
    <tr>
      <th scope="row">
        <Written text={name} />
      </th>
      <td>
        <Written text={valueText(requested)} />
      </td>
      {later.map((value) => (
        <td>
          {equalJson(value ?? null, requested ?? null) ? (
            <span class="soft">the same</span>
          ) : (
            <mark>
              <Written text={valueText(value)} />
            </mark>
          )}
        </td>
      ))}
    </tr>
  );
}

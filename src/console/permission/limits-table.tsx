import { duration } from '../../lib/duration';
import { equalJson, type Json, type JsonObject } from '../../lib/json';
import { SECOND } from '../../lib/time';
import type { ReviewedPermission } from '../../permissions/permission';
import { Table } from '../parts/blocks';
import { Written } from '../parts/inline';
import { valueText } from '../parts/limits';
import { limitFields } from './limits-fields';

/** The limits as requested, as the votes so far have left them, and as granted, with the differences marked. */
export function LimitsTable({ row }: { row: ReviewedPermission }) {
  const { review, status } = row;
  const isApproved = status === 'approved';
  const proposal = review && status === 'pending' && review.votes.length > 0 ? review.proposal : null;
  const columns = ['Limit', 'Requested', ...(proposal ? ['Proposed'] : []), ...(isApproved ? ['Granted'] : [])];
  const granted = isApproved ? (row.grantedScope ?? {}) : null;
  const ttl = row.tokenExpiresAt !== null && row.tokenIssuedAt !== null ? row.tokenExpiresAt - row.tokenIssuedAt : null;
  return (
    <Table caption="Limits" columns={columns}>
      {limitFields(row.scope).map(({ path, label, value }) => (
        <Row
          name={label}
          requested={value}
          later={[...(proposal ? [at(proposal.scope, path)] : []), ...(granted ? [at(granted, path)] : [])]}
        />
      ))}
      {addedKeys(row.scope, granted ?? proposal?.scope).map((key) => (
        <Row
          name={key}
          requested={undefined}
          later={[...(proposal ? [proposal.scope[key] as Json] : []), ...(granted ? [granted[key] as Json] : [])]}
        />
      ))}
      <Row
        name="Time to act, from the approval"
        requested={duration(row.tokenTtl * SECOND)}
        later={[
          ...(proposal ? [duration(proposal.tokenTtl * SECOND)] : []),
          ...(granted ? [ttl === null ? undefined : duration(ttl)] : []),
        ]}
      />
      <Row
        name="Times it may act"
        requested={row.maxUses}
        later={[...(proposal ? [proposal.maxUses] : []), ...(granted ? [row.tokenMaxUses ?? undefined] : [])]}
      />
    </Table>
  );
}

function at(scope: JsonObject, path: string[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (value, key) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? value[key] : undefined),
    scope,
  );
}

/** The limits that an approval added at the top level. */
function addedKeys(requested: JsonObject, later: JsonObject | undefined): string[] {
  return Object.keys(later ?? {}).filter((key) => !Object.hasOwn(requested, key));
}

function Row({ name, requested, later }: { name: string; requested: Json | undefined; later: (Json | undefined)[] }) {
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

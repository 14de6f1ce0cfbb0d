import type { UserPrincipal } from '../../http/context';
import { duration } from '../../lib/duration';
import { formatTime, SECOND } from '../../lib/time';
import { proposedLimits } from '../../permissions/limits';
import { pathLabel } from '../../permissions/path-label';
import type { ReviewedPermission } from '../../permissions/permission';
import { readNumber, type SentForm, textOr } from '../frame/form';
import { usePage } from '../frame/page-context';
import { DurationField, durationText, readLowered, showLowered } from '../parts/duration-field';
import { CheckBox, TextField } from '../parts/fields';
import { Code, Count, Time } from '../parts/inline';
import { SeriesSentence } from './sentence';

interface SeriesFieldsProps {
  row: ReviewedPermission;
  principal: UserPrincipal;
  /** How many approvals it needs after this one. */
  further: number;
  typed: SentForm | undefined;
}

/** The fields with which a member approves the next requests of a run of like acts as well. */
export function SeriesFields({ row, principal, further, typed }: SeriesFieldsProps) {
  const { now, formatNumber } = usePage();
  const { scope, series: offered } = proposedLimits(row);
  if (!row.series) return null;
  if (!offered) {
    return (
      <p class="hint">
        It asks for a series, but an earlier vote gave none: only this request can be approved.
      </p>
    );
  }
  if (!principal.member) {
    return (
      <p class="hint">
        It asks for a series of <Count of={offered.requests} one="request" />, which only a member
        can give. You can approve this one.
      </p>
    );
  }
  const { requests, expires_in, varies } = offered;
  const until = formatTime(now + expires_in * SECOND);
  return (
    <fieldset class="series" id="series">
      <legend>It asks for a series</legend>
      <CheckBox
        name="series"
        checked={typed?.has('series') ?? false}
        label={
          <>
            Approve this, and{' '}
            <SeriesSentence further={requests - 1} {...row} scope={scope} varies={varies} />
            {', '}
            {further <= 0 && ['until ', <Time at={until} />]}
            {further > 0 && `for ${duration(expires_in * SECOND)} from the last approval`}
          </>
        }
      />
      <p class="hint">
        <strong>Nobody sees their arguments first.</strong> You can end the series at any time.
      </p>
      <details open={typed?.has('series')}>
        <summary>Fewer requests, or a shorter time</summary>
        <div class="limits">
          <TextField
            label="Requests, this one included"
            name="series_requests"
            path="series.requests"
            type="number"
            min={2}
            max={requests}
            value={typed?.text('series_requests') || String(requests)}
            hint={`At most ${formatNumber(requests)}`}
          />
          <DurationField
            label="Time for them"
            name="series_expires_in"
            path="series.expires_in"
            value={showLowered(typed, 'series_expires_in', expires_in)}
            hint={`At most ${durationText(expires_in)}`}
          />
          {varies.length > 0 && (
            <fieldset>
              <legend>Limits that may be lower or narrower in each request</legend>
              <input type="hidden" name="series_varies-shown" value="1" />
              {varies.map((key, index) => (
                <CheckBox
                  label={<Code text={pathLabel([key])} />}
                  name="series_varies"
                  value={String(index)}
                  checked={isChecked(typed, index)}
                />
              ))}
            </fieldset>
          )}
        </div>
      </details>
    </fieldset>
  );
}

function isChecked(typed: SentForm | undefined, index: number): boolean {
  if (!typed?.has('series_varies-shown')) return true;
  return typed.list('series_varies').includes(String(index));
}

/** The series that a form gives, in the words of the API; nothing if it gives none. */
export function readSeries(form: SentForm, row: ReviewedPermission) {
  const { series: offered } = proposedLimits(row);
  if (!offered || !form.has('series')) return {};
  return {
    series: {
      requests: readNumber(textOr(form, 'series_requests', String(offered.requests))),
      expires_in: readLowered(form, 'series_expires_in', offered.expires_in),
      varies: offered.varies.filter((_, index) => isChecked(form, index)),
    },
  };
}

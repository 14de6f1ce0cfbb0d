import { HiddenFields } from '../parts/fields';
import type { Filters } from './filters';
import { PERIOD_OPTIONS } from './period';

interface PresetsProps {
  filters: Filters;
  /** The time zone of the reader; undefined if only the browser knows it. */
  timeZone: string | undefined;
}

/** Buttons that show the entries of a period. The other filters stay as they are. */
export function Presets({ filters, timeZone }: PresetsProps) {
  const { period, zone: _, start_date: __, end_date: ___, ...others } = filters;
  const hasOtherTime = filters.start_date !== undefined || filters.end_date !== undefined;
  const current = hasOtherTime ? null : (period ?? '');
  return (
    <form method="get" action="/console/audit" class="pills" aria-label="Periods">
      <HiddenFields fields={others} />
      <ZoneField timeZone={timeZone} />
      {PERIOD_OPTIONS.map(([name, label]) => (
        <button
          type="submit"
          name="period"
          value={name}
          aria-current={name === current ? 'true' : undefined}
        >
          {label}
        </button>
      ))}
    </form>
  );
}

/** The time zone on whose clocks a period begins. The script fills it in if it is not known. */
export function ZoneField({ timeZone }: Pick<PresetsProps, 'timeZone'>) {
  return <input type="hidden" name="zone" value={timeZone ?? ''} data-time-zone />;
}

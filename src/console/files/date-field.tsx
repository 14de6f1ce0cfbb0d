import type { Refusal } from '../frame/form';
import { TextField } from '../parts/form';

interface DateFieldProps {
  label: string;
  name: string;
  value: string;
  path?: string;
  refusal?: Refusal | undefined;
}

/** A field for a day. A value that is no day, such as a time from another page's address, is shown as text. */
export function DateField({ value, ...field }: DateFieldProps) {
  const isDay = value === '' || /^\d{4}-\d{2}-\d{2}$/.test(value);
  return <TextField {...field} value={value} type={isDay ? 'date' : 'text'} required />;
}

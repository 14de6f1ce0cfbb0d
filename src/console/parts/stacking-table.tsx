// biome-ignore-all lint/a11y/noRedundantRoles: where rows are blocks, some browsers see no table
import type { Child } from 'hono/jsx';

/** A column of a table whose rows may become blocks. */
interface Column {
  name: string;
  class?: string;
  /**
   * Whether its name stands before each value where the rows are blocks; without it the value
   * speaks for itself.
   */
  hasLabel?: boolean;
}

interface StackingTableProps {
  caption: string;
  columns: readonly Column[];
  /**
   * The cells of each row. The first cell is the heading of the row, and null or false is a cell
   * without a value. A row with one cell has it over all columns.
   */
  rows: readonly (readonly Child[])[];
}

/**
 * A table whose rows become blocks where the window is narrow. The roles keep it a table for screen
 * readers.
 */
export function StackingTable({ caption, columns, rows }: StackingTableProps) {
  return (
    <section class="table stacks" aria-label={`Table: ${caption}`} tabindex={0}>
      <table role="table">
        <caption class="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, class: className }) => (
              <th scope="col" role="columnheader" class={className}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((cells) => (
            <StackingRow columns={columns} cells={cells} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function StackingRow({
  columns,
  cells: [first, ...others],
}: {
  columns: readonly Column[];
  cells: readonly Child[];
}) {
  if (others.length === 0) {
    return (
      <tr role="row" class="gap">
        <td role="cell" colspan={columns.length}>
          {first}
        </td>
      </tr>
    );
  }
  return (
    <tr role="row">
      <th scope="row" role="rowheader">
        {first}
      </th>
      {others.map((cell, index) => (
        <StackingCell column={columns[index + 1]} cell={cell} />
      ))}
    </tr>
  );
}

function StackingCell({ column, cell }: { column: Column | undefined; cell: Child }) {
  const isEmpty = cell === null || cell === undefined || cell === false;
  const className = [column?.class, isEmpty && 'none'].filter(Boolean).join(' ');
  return (
    <td
      role="cell"
      class={className || undefined}
      data-label={column?.hasLabel ? column.name : undefined}
    >
      {isEmpty ? '–' : cell}
    </td>
  );
}

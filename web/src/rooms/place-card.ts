// Where the card of a hovered room stands.
export type Box = { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };
export type Size = { readonly width: number; readonly height: number };

const margin = 12;

/** Beside the lit rooms, never over them; null: there is no place in sight. */
export const placeCard = (
  lit: Box,
  sight: Size,
  card: Size,
): { readonly left: number; readonly top: number } | null => {
  const inside = (at: number, size: number, all: number): number => Math.max(8, Math.min(at, all - size - 8));
  const [left, top] = [inside(lit.left, card.width, sight.width), inside(lit.top, card.height, sight.height)];
  const right = sight.width - card.width - margin;
  if (right >= lit.right + margin && sight.height >= card.height + 16)
    return { left: Math.min(lit.right + 96, right), top };
  if (lit.left >= card.width + 2 * margin && sight.height >= card.height + 16)
    return { left: lit.left - card.width - margin, top };
  if (sight.height - lit.bottom >= card.height + 16) return { left, top: lit.bottom + 10 };
  return lit.top >= card.height + 32 ? { left, top: lit.top - card.height - 24 } : null;
};

// What guesses are made of: pairs of letters that are common in words and names, and the rows of keyboards.

/** First a letter, then those that often follow it, in English and in European names. */
const followers = `abcdgiklmnprstuvwxyz baeilorsuby cacehiklortuyz daeiorsudy eabcdefgiklmnoprstvwxy faefioru gaehiorsugl haeimortu
  iabcdefgklmnoprstvz jaeou kaeiknorsuy labdeiklostuvy mabeimopsuy nacdegikmnostuyz oabcdfgiklmnoprstuvwy paehiloprstuy qu
  racdegiklmnorstuvyz sacehiklmopstuwyz taehilorstuwyz uabcdegilmnoprsty vaeior waehinors xpeiat yaelnost zaceiotuyz`;

export const commonPairs: ReadonlySet<string> = new Set(
  followers.split(/\s+/u).flatMap((group) =>
    group
      .slice(1)
      .split('')
      .map((letter) => group.charAt(0) + letter),
  ),
);

/** Also the columns, with and without Shift: `1qaz2wsx` is among the first guesses. */
export const keyboardRows = (
  '1234567890 qwertyuiop asdfghjkl zxcvbnm qwertzuiop yxcvbnm azerty ' +
  '1qaz 2wsx 3edc 4rfv 5tgb 6yhn 7ujm !qaz @wsx #edc $rfv %tgb ^yhn &ujm'
).split(' ');

export const main = async (args: readonly string[]): Promise<void> => {
  console.log(args);
};

// The package has no types.
declare module 'mistral-tokenizer-js' {
  const tokenizer: { encode(text: string, addBosToken: boolean, addPrecedingSpace: boolean): readonly number[] };
  export default tokenizer;
}

/** Loading stage: 0 shows nothing, 1 (after 300 ms) a skeleton, 2 (after 3 s) a text. */
import { useEffect, useState } from "react";

export function useLoadingStage(isPending: boolean): 0 | 1 | 2 {
  const [stage, setStage] = useState<0 | 1 | 2>(0);
  useEffect(() => {
    setStage(0);
    if (!isPending) return;
    const timers = [setTimeout(() => setStage(1), 300), setTimeout(() => setStage(2), 3_000)];
    return () => timers.forEach(clearTimeout);
  }, [isPending]);
  return isPending ? stage : 0;
}

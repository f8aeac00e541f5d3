/** Keeps the live edge in view while the reader does not scroll away from it. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

const NEAR_PX = 48;
const MARGIN_PX = 24;

export function useEdge(edge: RefObject<HTMLElement | null>, isLive: boolean, drawn: unknown) {
  const isFollowing = useRef(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  const [isAway, setAway] = useState(false);
  const gap = useCallback(() => (edge.current?.getBoundingClientRect().bottom ?? 0) + MARGIN_PX - innerHeight, [edge]);

  useLayoutEffect(() => {
    if (isLive && isFollowing.current && gap() > 0) scrollBy({ top: gap(), behavior: "instant" });
    setAway(isLive && gap() > NEAR_PX);
  }, [drawn, isLive]);

  useEffect(() => {
    let top = scrollY;
    const moved = () => {
      // Only going up is leaving: the page itself only ever goes down.
      if (scrollY < top - 2 && gap() > NEAR_PX) isFollowing.current = false;
      else if (gap() <= NEAR_PX && !matchMedia("(prefers-reduced-motion: reduce)").matches) isFollowing.current = true;
      top = scrollY;
      setAway(isLive && gap() > NEAR_PX);
    };
    addEventListener("scroll", moved, { passive: true });
    return () => removeEventListener("scroll", moved);
  }, [isLive]);

  const back = useCallback(() => scrollBy({ top: gap(), behavior: "instant" }), [gap]);
  return { isAway, back };
}

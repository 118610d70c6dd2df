import Foundation
import Strata
import Testing

/// Random graphs: every operation on a context and on a plain model alike, equal all the way and after every save; the file is
/// checked after every save. `STRATA_SEED` runs one seed, `STRATA_GRAPH_STEPS` more steps.
struct RandomGraphTests {
  @Test("random operations on relationships agree with a plain model", arguments: seeds)
  func randomOperations(seed: UInt64) throws {
    print("randomOperations: STRATA_SEED=\(seed)")
    let operations = try GraphOperations(seed: seed, canUndo: false)
    try operations.run(Self.steps)
    #expect(operations.saves > Self.steps / 100)
  }

  @Test("rules 235, 240: the same with undo and redo in between", arguments: seeds)
  func randomOperationsWithUndo(seed: UInt64) throws {
    print("randomOperationsWithUndo: STRATA_SEED=\(seed)")
    let operations = try GraphOperations(seed: seed, canUndo: true)
    try operations.run(Self.steps)
    #expect(operations.undoneCount > Self.steps / 100)
  }

  private static let environment = ProcessInfo.processInfo.environment
  private static let steps: Int = environment["STRATA_GRAPH_STEPS"].flatMap { Int($0) } ?? 600
  private static let seeds: [UInt64] =
    environment["STRATA_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3]
}

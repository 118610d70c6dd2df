import Foundation
import Strata
import Testing
import TortureKit

/// Pages that commits have replaced are used again, also while nobody ever pauses long enough for a checkpoint in a quiet moment.
@Suite(.enabled(if: TortureSettings.canInterpose, "the writing process stops itself on Linux only"))
struct FileGrowthTests {
  @Test("pages are used again although the process that writes seldom makes no checkpoint for its own sake")
  func pagesAreUsedAgain() throws {
    let folder = try ScratchFolder()
    let path = folder("crowd.strata")
    let container = try Crowd.open(path)
    try Crowd.prepare(container)
    let store = try #require(container.persistentStoreCoordinator.persistentStores.first as? LMDBStore)
    let context = container.newBackgroundContext()
    let fact = try context.performAndWait {
      let fact = Fact(context: context)
      fact.kind = .note
      fact.owner = 0
      try context.save()
      return fact
    }
    let saves = 1_500
    let child = try ChildProcess(
      ChildProcess.program("Torture"),
      ["member", path, "--worker", "1", "--until", "\(saves)", "--turn", "20"])
    defer {
      child.kill()
      child.wait()
    }
    var heard = 0
    while let line = child.readLine(), line != "done" {
      guard line.hasPrefix("save ") else { continue }
      heard += 1
      guard heard % 20 == 0 else { continue }
      try context.performAndWait {
        fact.number += 1
        try context.save()
      }
      child.say("")
    }
    #expect(heard == saves)
    try expectFewPages(store, in: folder)
    try container.persistentStoreCoordinator.remove(store)
  }
  @Test("a store that is written without a pause does not grow all the time")
  func savesWithoutAPause() throws {
    let folder = try ScratchFolder()
    let container = try Crowd.open(folder("alone.strata"))
    let store = try #require(container.persistentStoreCoordinator.persistentStores.first as? LMDBStore)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let fact = Fact(context: context)
      fact.kind = .note
      fact.owner = 0
      for number in 1...5_000 {
        fact.number = number
        try context.save()
      }
    }
    try expectFewPages(store, in: folder)
    try container.persistentStoreCoordinator.remove(store)
  }

  /// Between two checkpoints of a process the file may grow by 1,024 pages, and there are two processes at most. The pages that
  /// became free since the last two checkpoints are still in the file.
  private func expectFewPages(
    _ store: LMDBStore, in folder: ScratchFolder, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let statistics = try store.statistics()
    let copy = folder.url("copy.strata")
    try store.backup(to: copy)
    let size = try #require(try FileManager.default.attributesOfItem(atPath: copy.path)[.size] as? Int)
    let live = size / statistics.pageSize
    #expect(
      statistics.pageCount <= 2 * live + 4 * 1_024, "\(live) pages would do", sourceLocation: sourceLocation)
  }
}

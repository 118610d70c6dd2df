import Foundation
import Testing
import TortureKit

/// What the operating system withholds, each in a process of its own.
@Suite(.enabled(if: TortureSettings.canInterpose, "the limits are Linux's"))
struct LimitTests {
  @Test(arguments: ["file-size", "descriptors", "folder"])
  func aLimitIsAnErrorAndNothingIsLost(limit: String) async throws {
    try await run(ChildProcess.program("Torture"), ["limit", limit])
  }

  @Test(.enabled(if: !Sanitizer.isUsed, "sanitizers need terabytes of address space"))
  func littleAddressSpaceMeansASmallMap() async throws {
    try await run(ChildProcess.program("Torture"), ["limit", "address-space"])
  }

  @Test(.enabled(if: canMount, "this process may not mount"), arguments: ["small-disk", "read-only-disk"])
  func aFullOrReadOnlyDiskIsCalledSo(limit: String) async throws {
    try await run(Self.unshare, ["-r", "-m", ChildProcess.program("Torture"), "limit", limit])
  }

  private func run(_ program: String, _ arguments: [String]) async throws {
    let totals = try await TortureWorker.totals(of: program, [arguments])
    #expect(totals.cases > 0, "nothing was refused")
  }

  private static let unshare = "/usr/bin/unshare"
  private static let canMount = (try? ChildProcess(unshare, ["-r", "-m", "true"]))?.wait() == 0
}

import Foundation
import Testing

@_spi(Testing) @testable import StrataCore

/// Values nested as deeply as JSON allows are decoded, or refused, on the small stacks of secondary threads.
@Suite struct NestingTests {
  @Test func deepMetadataFitsOnASmallStack() async throws {
    await #expect(processExitsWith: .success) {
      var inputs: [[UInt8]] = []
      for depth in [10, 100, 170, 250, 510, 5_000, 200_000] {
        let array =
          String(repeating: #"{"array":{"_0":["#, count: depth) + String(repeating: "]}}", count: depth)
        inputs.append([1] + Array((#"{"a":"# + array + "}").utf8))
        inputs.append([1] + Array(String(repeating: "[", count: depth).utf8))
        let node = String(repeating: #"{"dictionary":{"_0":{"k":"#, count: depth)
        inputs.append([1] + Array((#"{"a":"# + node + String(repeating: "}}}", count: depth) + "}").utf8))
      }
      let all = inputs
      nonisolated(unsafe) var count = 0
      let done = DispatchSemaphore(value: 0)
      // Ended before it is read: hence unsafe.
      let thread = Thread {
        for input in all {
          _ = input.withUnsafeBytes { DecoderProbe.metadata.run($0) }
          _ = input.dropFirst().withUnsafeBytes { DecoderProbe.model.run($0) }
          count += 1
        }
        done.signal()
      }
      thread.stackSize = 512 << 10
      thread.start()
      done.wait()
      #expect(count == all.count)
    }
  }

  /// What is written is read again; what would not be is refused in time.
  @Test func metadataIsRefusedBeforeItCannotBeRead() throws {
    let fixture = try StoreFixture()
    func nested(_ depth: Int) -> StoreMetadata {
      var value = MetadataValue.string("]]]}}}\"[[[{{{")
      for level in 0..<depth { value = level % 2 == 0 ? .array([value]) : .dictionary(["k": value]) }
      return StoreMetadata(values: ["deep": value])
    }
    let limit = StoreMetadata.depthLimit
    try fixture.commit(metadata: nested(limit))
    #expect(try storageError { try fixture.commit(metadata: nested(limit + 1)) }.kind == .tooLarge)
    try fixture.reopen()
    #expect(fixture.store.metadata["deep"] == nested(limit).values["deep"])
    fixture.store.close()
    #expect(
      try storageError { try LMDBStore.setMetadata(nested(limit + 1), at: fixture.url) }.kind == .tooLarge)
    let text = String(repeating: "[", count: 129) + String(repeating: "]", count: 129)
    #expect(!BoundedJSON.isBounded(Data(text.utf8)))
    #expect(BoundedJSON.isBounded(Data(text.dropFirst().dropLast().utf8)))
    #expect(!BoundedJSON.isBounded(try #require("[1]".data(using: .utf16LittleEndian))))
  }

  @Test func deepPredicatesAreRefused() throws {
    let schema = try StoreFixture.model().schema()
    var predicate = FetchPredicate.everything
    for _ in 0..<99 { predicate = .not(predicate) }
    _ = try ResolvedFetchRequest(
      FetchRequest<ManagedObjectID>(entityName: "Item", predicate: predicate), schema: schema)
    predicate = .not(predicate)
    let error = #expect(throws: FetchError.self) {
      try ResolvedFetchRequest(
        FetchRequest<ManagedObjectID>(entityName: "Item", predicate: predicate), schema: schema)
    }
    #expect(error?.reason == .tooDeep && error?.description.contains("100") == true)
  }
}

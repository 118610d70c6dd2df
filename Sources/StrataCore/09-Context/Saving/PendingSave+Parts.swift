import Dispatch
import Foundation
import Synchronization

extension PendingSave {
  /// In how many threads at once so many new objects are encoded.
  static func encodingParts(_ count: Int) -> Int {
    count < fewestInPart ? 0 : min(count / fewestInPart, processors, mostParts)
  }

  /// Asked once: on Linux the answer is read from files.
  private static let processors = ProcessInfo.processInfo.activeProcessorCount

  /// Fewer objects are encoded before a second thread has got under way.
  private static let fewestInPart = 2_048
  private static let mostParts = 4

  /// Encodes new objects in several threads.
  func encodeNew(_ objects: [ManagedObject], parts: Int) throws -> [RowChange] {
    try objects.withUnsafeBufferPointer { try encodeNew($0, parts: parts) }
  }

  func encodeNew(_ objects: UnsafeBufferPointer<ManagedObject>, parts: Int) throws -> [RowChange] {
    try encode(objects, parts: parts) { try self.encodeNew($0, &$1) }
  }

  /// Encodes objects in several threads, while the calling one, which owns the objects, takes part and waits: no thread
  /// edits them meanwhile, and `encode` only reads.
  @inline(__always)
  func encode<Row>(
    _ objects: UnsafeBufferPointer<ManagedObject>, parts: Int,
    _ encode: @escaping (ManagedObject, inout RowSlabWriter) throws -> Row
  ) throws -> [Row] {
    try [Row](unsafeUninitializedCapacity: objects.count) { target, count in
      // Unsafe: each part reads and writes places of its own; `encode` is called in several threads, and is done when this returns.
      nonisolated(unsafe) let (target, objects, encode) = (target, objects, encode)
      let outcomes = Mutex<[(written: Range<Int>, failure: (any Error)?)]>([])
      DispatchQueue.concurrentPerform(iterations: parts) { part in
        let range = objects.count * part / parts..<objects.count * (part + 1) / parts
        var writer = RowSlabWriter(expectedLength: RowSlab.chunkLength)
        var place = range.lowerBound
        var failure: (any Error)?
        do {
          try ManagedObject.forEach(objects[range]) { object in
            if place + 6 < range.upperBound {
              Unmanaged.passUnretained(objects[place + 6])._withUnsafeGuaranteedRef { $0.prefetchDraft() }
            }
            target.initializeElement(at: place, to: try encode(object, &writer))
            place += 1
          }
        } catch {
          failure = error
        }
        outcomes.withLock { $0.append((range.lowerBound..<place, failure)) }
      }
      let all = outcomes.withLock { $0 }.sorted { $0.written.lowerBound < $1.written.lowerBound }
      if let failure = all.lazy.compactMap(\.failure).first {
        for outcome in all {
          for place in outcome.written { target.deinitializeElement(at: place) }
        }
        throw failure
      }
      count = objects.count
    }
  }
}

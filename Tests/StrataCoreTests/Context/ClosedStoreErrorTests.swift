import Foundation
import Testing

@testable import StrataCore

@Suite("Errors of closed stores by Core Data's names")
struct ClosedStoreErrorTests {
  @Test("A store that is removed while it is read is what one is that was removed before: 134070")
  func closed() {
    let closed = StorageError(.closed, operation: "use store", path: "/store", detail: "")
    #expect((FoundationErrors.error(for: closed) as? CocoaError)?.code.rawValue == 134_070)
    let busy = StorageError(.busy, operation: "use store", path: "/store", detail: "")
    #expect((FoundationErrors.error(for: busy) as? CocoaError)?.code.rawValue == 134_060)
  }
}

import Foundation
import Strata
import Testing

extension ManagedObjectContext {
  /// Edits and saves; returns the did-save notification, which a test merges elsewhere when it likes.
  func catchingSave(_ edit: () throws -> Void = {}) throws -> Notification {
    let caught = Log<Notification>()
    let token = NotificationCenter.default.addObserver(forName: .didSave, object: self, queue: nil) {
      caught.add($0)
    }
    defer { NotificationCenter.default.removeObserver(token) }
    try edit()
    try save()
    return try #require(caught.first)
  }
}

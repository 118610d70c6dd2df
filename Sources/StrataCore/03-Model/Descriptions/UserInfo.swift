/// What an application keeps with a description. May be read and replaced from any thread, also while the model is in use: it is no part of what
/// a model means.
final class UserInfo: @unchecked Sendable {
  // @unchecked Sendable: the dictionary is behind the lock; what is in it is the application's, which says with `userInfo` that threads may
  // share it.
  private let content = Mutex(Content())

  private struct Content: @unchecked Sendable {
    // @unchecked Sendable: see above.
    var values: [AnyHashable: Any] = [:]
  }

  /// The whole dictionary.
  var values: [AnyHashable: Any] {
    get { content.withLock { $0 }.values }
    set {
      let new = Content(values: newValue)
      content.withLock { $0 = new }
    }
  }
}

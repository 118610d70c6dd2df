#if !canImport(Darwin)
  /// What one undo runs: actions, and groups inside it, in the order of their registration.
  struct UndoGroup {
    enum Item {
      case action(UndoAction)
      case group(UndoGroup)
    }

    var items: [Item] = []
    var name = ""
    var isDiscardable = false
    var userInfo: [String: Any] = [:]

    var isEmpty: Bool { items.isEmpty }

    /// Whether it has a name, or something else was said of it.
    var isNoted: Bool { !name.isEmpty || isDiscardable || !userInfo.isEmpty }

    /// Whether running it would do anything: some action's target is there, and what it does is not done otherwise.
    var isAlive: Bool {
      items.contains { item in
        switch item {
        case .action(let action): action.isAlive
        case .group(let group): group.isAlive
        }
      }
    }

    /// A group of the same name with nothing in it.
    var emptied: UndoGroup {
      var group = self
      group.items = []
      return group
    }

    /// Runs everything, last first.
    func run() {
      for item in items.reversed() {
        switch item {
        case .action(let action): action.run()
        case .group(let group): group.run()
        }
      }
    }

    /// Takes out every action of `target`, and the groups that this leaves empty.
    mutating func remove(_ target: AnyObject) {
      items = items.compactMap { item in
        switch item {
        case .action(let action): action.target === target ? nil : item
        case .group(let group): group.removing(target).map { .group($0) }
        }
      }
    }

    /// The group without the actions of `target`; nil when nothing is left.
    func removing(_ target: AnyObject) -> UndoGroup? {
      var group = self
      group.remove(target)
      return group.isEmpty ? nil : group
    }
  }

  /// One thing to run, with its target or without one.
  struct UndoAction {
    private(set) weak var target: AnyObject?
    private let hasTarget: Bool
    private let isDone: (() -> Bool)?
    private let handler: (AnyObject?) -> Void

    init(
      target: AnyObject, _ handler: @escaping (AnyObject?) -> Void, isDone: (() -> Bool)? = nil
    ) {
      self.target = target
      hasTarget = true
      self.isDone = isDone
      self.handler = handler
    }

    init(_ handler: @escaping () -> Void) {
      hasTarget = false
      isDone = nil
      self.handler = { _ in handler() }
    }

    var isAlive: Bool { (!hasTarget || target != nil) && isDone?() != true }

    func run() { if isAlive { handler(target) } }
  }
#endif

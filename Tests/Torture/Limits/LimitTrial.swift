import Foundation
import Strata
import TortureKit

#if os(Linux)

  /// A store under a limit: refused saves and openings have the right name, lose nothing, and succeed once the limit is gone.
  final class LimitTrial {
    private let folder: ScratchFolder
    private var path: String { folder("Ledger.strata") }
    /// By writer, the saves that were made.
    private var plans: [Int: LedgerPlan] = [:]
    /// How often the system refused.
    private(set) var refusals = 0

    init(inMemory: Bool) throws { folder = try ScratchFolder(inMemory: inMemory) }

    // MARK: Limits

    func fileSize() throws {
      // Without this the system ends a process that reaches the limit on a thread of its own.
      signal(SIGXFSZ, SIG_IGN)
      let container = try Ledger.open(path, mapSize: nil)
      try save(container, 30)
      for room in [0, 1_000, 4_096, 20_000, 100_000] {
        let size = try fileSize(of: path)
        let limit = try ResourceLimit(Self.fileSizeResource, size + room)
        let refused = try saveUntilRefused(container, as: [.diskFull])
        if room == 0 {
          try expectRefusal(as: [.diskFull]) {
            // The copy is as large as the store, of which every save that was refused has left room for no more.
            let tight = try ResourceLimit(Self.fileSizeResource, size / 2)
            defer { tight.lift() }
            try Ledger.store(container).backup(to: folder.url("Backup.strata"), compacting: false)
          }
        }
        limit.lift()
        try saveAgain(refused)
      }
      try Ledger.store(container).backup(to: folder.url("Backup.strata"))
      try finish(container)
      try examine(folder("Backup.strata"))
    }

    func addressSpace() throws {
      var container = try Ledger.open(path)
      try save(container, 10)
      try Ledger.close(container)
      // Room for a small map only, then not even for that.
      for (megabytes, isEnough) in [(6_000, true), (700, true), (120, false)] {
        let limit = try ResourceLimit(
          Self.addressSpaceResource, try Self.addressSpaceInUse() + megabytes << 20)
        if isEnough {
          container = try Ledger.open(path, mapSize: nil)
          try save(container, 10)
          try Ledger.close(container)
        } else {
          try expectRefusal(as: [.outOfMemory]) { _ = try Ledger.open(path, mapSize: nil) }
        }
        limit.lift()
      }
      container = try Ledger.open(path, mapSize: nil)
      try save(container, 10)
      try finish(container)
    }

    func descriptors() throws {
      var container = try Ledger.open(path)
      try save(container, 10)
      try Ledger.close(container)
      let before = try Self.descriptorCount()
      var room = 0
      while true {
        let limit = try ResourceLimit(Self.descriptorResource, try Self.descriptorLimit(leaving: room))
        defer { limit.lift() }
        do {
          container = try Ledger.open(path)
          break
        } catch let error as StorageError where error.kind == .outOfMemory {
          refusals += 1
        }
        limit.lift()
        guard try Self.descriptorCount() == before else { throw TortureViolation("a refused opening leaks") }
        room += 1
        guard room < 20 else { throw TortureViolation("twenty descriptors are not enough") }
      }
      guard room > 0 else { throw TortureViolation("the limit was none") }
      // An open store needs no further ones to save, and one or two for a copy.
      let limit = try ResourceLimit(Self.descriptorResource, try Self.descriptorLimit(leaving: 0))
      try save(container, 10)
      try expectRefusal(as: [.outOfMemory]) {
        try Ledger.store(container).backup(to: folder.url("Backup.strata"))
      }
      limit.lift()
      try Ledger.store(container).backup(to: folder.url("Backup.strata"))
      try finish(container)
      try examine(folder("Backup.strata"))
      guard try Self.descriptorCount() == before else { throw TortureViolation("descriptors leak") }
    }

    func folderWithoutPermission() throws {
      // Root may do everything everywhere.
      if geteuid() == 0 {
        guard chown(folder.path, 65_534, 65_534) == 0, setegid(65_534) == 0, seteuid(65_534) == 0 else {
          throw POSIXError(.init(rawValue: errno) ?? .EIO)
        }
      }
      defer { chmod(folder.path, 0o700) }
      chmod(folder.path, 0o500)
      try expectRefusal(as: [.permission]) { _ = try Ledger.open(path) }
      chmod(folder.path, 0o700)
      var container = try Ledger.open(path)
      try save(container, 10)
      // An open store needs nothing from its folder, but a copy does.
      chmod(folder.path, 0o500)
      try save(container, 10)
      try expectRefusal(as: [.permission]) {
        try Ledger.store(container).backup(to: folder.url("Backup.strata"))
      }
      try finish(container)
      chmod(folder.path, 0o700)
      unlink(path + "-lock")
      chmod(folder.path, 0o500)
      // The lock file cannot be made.
      try expectRefusal(as: [.permission]) { _ = try Ledger.open(path) }
      chmod(folder.path, 0o700)
      container = try Ledger.open(path)
      try save(container, 10)
      try finish(container)
    }

    func smallDisk() throws {
      try mount("size=300k", flags: 0)
      defer { umount2(folder.path, Int32(MNT_DETACH)) }
      let container = try Ledger.open(path, mapSize: nil)
      for size in 1...8 {
        let refused = try saveUntilRefused(container, as: [.diskFull])
        if size == 1 {
          try expectRefusal(as: [.diskFull]) {
            try Ledger.store(container).backup(to: folder.url("Backup.strata"), compacting: false)
          }
        }
        try mount("size=\(300 + size * 200)k", flags: UInt(MS_REMOUNT))
        try saveAgain(refused)
      }
      try mount("size=64m", flags: UInt(MS_REMOUNT))
      try Ledger.store(container).backup(to: folder.url("Backup.strata"))
      try finish(container)
      try examine(folder("Backup.strata"))
    }

    func readOnlyDisk() throws {
      try mount("size=64m", flags: 0)
      defer { umount2(folder.path, Int32(MNT_DETACH)) }
      try expectAfterRemount { try expectRefusal(as: [.readOnlyMedia]) { _ = try Ledger.open(path) } }
      let container = try Ledger.open(path)
      try save(container, 10)
      try finish(container)
      try expectAfterRemount {
        try expectRefusal(as: [.readOnlyMedia]) { _ = try Ledger.open(path) }
        try examine(path, isReadOnly: true)
      }
      try examine(path)
    }

    /// Does `body` while the disk is mounted read-only.
    private func expectAfterRemount(_ body: () throws -> Void) throws {
      try mount("size=64m", flags: UInt(MS_REMOUNT | MS_RDONLY))
      try body()
      try mount("size=64m", flags: UInt(MS_REMOUNT))
    }

    // MARK: Saving

    private struct Refused {
      let context: ManagedObjectContext
      let plan: LedgerPlan
    }

    /// Saves of as many writers, one after another.
    private func save(_ container: PersistentContainer, _ count: Int) throws {
      for number in 0..<count {
        let context = container.newBackgroundContext()
        let plan = plan(number)
        try context.performAndWait {
          try plan.change(context)
          try context.save()
        }
        made(plan)
      }
    }

    private func plan(_ writer: Int) -> LedgerPlan { plans[writer] ?? LedgerPlan(writer: writer) }

    private func made(_ plan: LedgerPlan) {
      var plan = plan
      plan.advance()
      plans[plan.writer] = plan
    }

    /// Saves with ever more writers until one save is refused, and looks at what the refusal left.
    private func saveUntilRefused(
      _ container: PersistentContainer, as kinds: Set<StorageError.Kind>
    ) throws -> Refused {
      for step in 1...2_000 {
        let context = container.newBackgroundContext()
        let plan = plan(step % 3 == 0 ? plans.count / 2 : plans.count)
        do {
          try context.performAndWait {
            try plan.change(context)
            try context.save()
          }
          made(plan)
          continue
        } catch let error as StorageError {
          guard kinds.contains(error.kind) else { throw TortureViolation("called \(error.kind): \(error)") }
          refusals += 1
        }
        guard context.performAndWait({ context.hasChanges }) else {
          throw TortureViolation("the context has lost its changes")
        }
        try expect(LedgerState(container))
        return Refused(context: context, plan: plan)
      }
      throw TortureViolation("2,000 saves were not refused")
    }

    /// Makes a save that was refused.
    private func saveAgain(_ refused: Refused) throws {
      try refused.context.performAndWait { try refused.context.save() }
      made(refused.plan)
    }

    private func expectRefusal(as kinds: Set<StorageError.Kind>, _ body: () throws -> Void) throws {
      do {
        try body()
      } catch let error as StorageError {
        guard kinds.contains(error.kind) else { throw TortureViolation("called \(error.kind): \(error)") }
        refusals += 1
        return
      }
      throw TortureViolation("nothing was refused")
    }

    // MARK: Examining

    private func finish(_ container: PersistentContainer) throws {
      try Ledger.close(container)
      try examine(path)
    }

    private func examine(_ path: String, isReadOnly: Bool = false) throws {
      let container = try Ledger.open(path, createsIfMissing: false, isReadOnly: isReadOnly)
      defer { try? Ledger.close(container) }
      try expect(LedgerState(container))
    }

    private func expect(_ state: LedgerState) throws {
      let expected = plans.mapValues(\.lastSave)
      guard state.lastSaves == expected else {
        throw TortureViolation("the store has \(state.lastSaves), not \(expected)")
      }
    }

    // MARK: The system

    private static let fileSizeResource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    private static let addressSpaceResource = __rlimit_resource_t(RLIMIT_AS.rawValue)
    private static let descriptorResource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private func mount(_ options: String, flags: UInt) throws {
      guard Glibc.mount("tmpfs", folder.path, "tmpfs", flags, options) == 0 else {
        throw POSIXError(.init(rawValue: errno) ?? .EIO)
      }
    }

    private func fileSize(of path: String) throws -> Int {
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    /// In bytes.
    private static func addressSpaceInUse() throws -> Int {
      let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
      return (words.first.flatMap { Int($0) } ?? 0) * Int(getpagesize())
    }

    private static func descriptorNumbers() throws -> [Int] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int($0) }
    }

    private static func descriptorCount() throws -> Int { try descriptorNumbers().count }

    /// The limit below which so many numbers are free: the system gives away the lowest.
    private static func descriptorLimit(leaving room: Int) throws -> Int {
      // The listing's own descriptor is closed by now.
      let used = Set(try descriptorNumbers().filter { fcntl(Int32($0), F_GETFD) >= 0 })
      var (limit, free) = (0, 0)
      while free < room || used.contains(limit) {
        if !used.contains(limit) { free += 1 }
        limit += 1
      }
      return limit
    }
  }

  /// A limit of this process while it lasts.
  private struct ResourceLimit {
    private let resource: __rlimit_resource_t
    private let before: rlimit

    init(_ resource: __rlimit_resource_t, _ value: Int) throws {
      self.resource = resource
      var limit = rlimit()
      getrlimit(resource, &limit)
      before = limit
      limit.rlim_cur = rlim_t(value)
      guard setrlimit(resource, &limit) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    func lift() {
      var limit = before
      setrlimit(resource, &limit)
    }
  }

#endif

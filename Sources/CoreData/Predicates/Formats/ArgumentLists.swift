#if arch(x86_64) || arch(arm64)
  import Foundation

  /// A C list of arguments, as Apple's systems have this function: `NSPredicate(format: format, arguments: getVaList(arguments))`.
  ///
  /// It is there, and holds its arguments, until the thread has made sixteen more. (On Apple's systems, until the pool for autoreleased objects is drained.)
  public func getVaList(_ args: [any CVarArg]) -> CVaListPointer { ArgumentList.make(args) }

  /// The memory behind a list, with what its arguments point to.
  ///
  /// Unsafe: C reads the memory as its `va_list`. It is as the calling conventions of these processors have it, and is freed with this object.
  final class ArgumentList {
    private let objects: [any CVarArg]
    private let words: UnsafeMutablePointer<Int>
    private let header: UnsafeMutableRawPointer

    /// What stands at the beginning of a list where arguments no longer come in registers.
    private struct Header {
      /// Behind the six integers, and behind the eight numbers of sixteen bytes that follow them.
      let integers: UInt32 = 48
      let numbers: UInt32 = 176
      let stack: UnsafeMutablePointer<Int>
      let registers: UnsafeMutablePointer<Int>
    }

    private init(_ args: [any CVarArg]) {
      // As the standard library does for a list that lives as long as a closure.
      objects = args.map { ($0 as? any _CVarArgObject)?._cVarArgObject ?? $0 }
      let encoded = objects.flatMap(\._cVarArgEncoding)
      words = .allocate(capacity: encoded.count + 1)
      words.initialize(to: 0)
      for (place, word) in encoded.enumerated() { (words + place).initialize(to: word) }
      header = .allocate(
        byteCount: MemoryLayout<Header>.size, alignment: MemoryLayout<Header>.alignment)
      header.storeBytes(of: Header(stack: words, registers: words), as: Header.self)
    }

    deinit {
      words.deallocate()
      header.deallocate()
    }

    private var pointer: CVaListPointer {
      #if arch(x86_64)
        return CVaListPointer(_fromUnsafeMutablePointer: header)
      #else
        // Unsafe: the same five parts, the stack and that no argument is in registers any more; the sizes are compared when it runs.
        typealias Parts = (
          UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int>?, Int32, Int32
        )
        return unsafeBitCast((words, nil, nil, 0, 0) as Parts, to: CVaListPointer.self)
      #endif
    }

    // MARK: Lists of a thread

    /// The lists that a thread has made last: nothing tells when one is no longer used.
    private final class Made {
      var lists: [ArgumentList] = []
    }

    private static let key = "Strata.ArgumentLists"
    private static let most = 16

    static func make(_ args: [any CVarArg]) -> CVaListPointer {
      let dictionary = Thread.current.threadDictionary
      let made = dictionary[key] as? Made ?? Made()
      dictionary[key] = made
      let list = ArgumentList(args)
      made.lists = made.lists.suffix(most - 1) + [list]
      return list.pointer
    }
  }
#endif

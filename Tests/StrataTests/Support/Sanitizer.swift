import Foundation

/// The sanitizer that the tests are built with, if there is one.
enum Sanitizer {
  /// Sanitized code takes several times the stack, and all the address space.
  static let isUsed = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
}
